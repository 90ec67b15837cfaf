// Section 19: assertions at the top and in blocks that hold.

#include <core.p4>
#include <v1model.p4>

const bool CHECKED = static_assert(V1MODEL_VERSION > 20180000, "too old");
const bool ALSO = static_assert(1 + 1 == 2);

header data_t {
    bit<8> x;
}

control Work(inout data_t d, inout standard_metadata_t std)  {
    apply {
        static_assert(8w255 + 1 == 0, "wraps");
        d.x = CHECKED && ALSO ? 8w1 : 0;
    }
}

#include "../stf/frame/one_header.p4"
