// Section 6.6: a program is a row of declarations, empty ones among them.

#include <core.p4>
#include <v1model.p4>
;
header data_t {
    bit<8> x;
};
;;
const bit<8> ONE = 1;
bit<8> increment(in bit<8> x) {
    return x + ONE;
};

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.x = increment(d.x);
    }
};

#include "../stf/frame/one_header.p4"
