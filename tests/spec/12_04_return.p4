// Section 12.4: `return` ends an action, function or control at once; `out` and `inout` parameters are copied out all the same.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> action_;
    bit<8> function_;
    bit<8> control_;
    bit<8> after;
}

bit<8> f(in bit<8> x, out bit<8> y) {
    y = 1;
    if (x == 1) {
        return 0x10;
    }
    y = 2;
    return 0x20;
}

control Inner(in bit<8> x, inout bit<8> y) {
    apply {
        y = y + 1;
        if (x == 1) {
            return;
        }
        y = y + 1;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Inner() inner;

    action a(in bit<8> x, out bit<8> y) {
        y = 3;
        if (x == 1) {
            return;
        }
        y = 4;
    }

    apply {
        a(d.x, d.action_);
        bit<8> y;
        d.function_ = f(d.x, y) + y;
        inner.apply(d.x, d.control_);
        d.after = 1;
        if (d.x == 2) return;
        d.after = 2;
    }
}

#include "../stf/frame/one_header.p4"
