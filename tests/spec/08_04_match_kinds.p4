// Section 8.4: match kinds are compared for equality while compiling.

#include <core.p4>
#include <v1model.p4>

match_kind { fuzzy }

const bool SAME = exact == exact;
const bool OTHER = exact == fuzzy || ternary == lpm;

header data_t {
    bit<8> compared;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.compared = SAME && !OTHER && fuzzy != lpm ? 8w1 : 0;
    }
}

#include "../stf/frame/one_header.p4"
