// Section 8.5: `&&`, `||`, `!`, `==` and `!=` of truth values; a number is compared to make one; operands that do not matter are
// not evaluated.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> nonzero;
    bit<8> calls;
    bit<8> equal;
}

bool count(inout bit<8> calls, in bool result) {
    calls = calls + 1;
    return result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bool nonzero = false;
        if (d.x != 0) {
            nonzero = true;
        }
        d.nonzero = nonzero ? 8w1 : 0;
        bool both = nonzero && count(d.calls, true);
        bool any = nonzero || count(d.calls, true) && count(d.calls, false);
        d.equal = (both == any ? 8w1 : 0) + (both != !any ? 8w2 : 0);
    }
}

#include "../stf/frame/one_header.p4"
