// Section 12.5: `exit` ends the action, its control and all callers at once; what they got by `inout` and `out` is copied out.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> inner;
    bit<8> outer;
    bit<8> after;
}

control Innermost(in bit<8> x, inout bit<8> y) {
    action leave(inout bit<8> z) {
        z = z + 1;
        exit;
    }

    apply {
        y = y + 0x10;
        if (x == 1) {
            leave(y);
        }
        y = y + 0x20;
    }
}

control Inner(in bit<8> x, inout bit<8> y, out bit<8> z) {
    Innermost() innermost;

    apply {
        z = 1;
        innermost.apply(x, y);
        z = 2;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Inner() inner;

    apply {
        inner.apply(d.x, d.inner, d.outer);
        d.after = 1;
    }
}

#include "../stf/frame/one_header.p4"
