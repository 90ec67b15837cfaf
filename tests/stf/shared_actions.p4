// Actions at the top level, used by two controls and called directly; default values of parameters of functions
// and constructors.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> first;
    bit<8> second;
    bit<8> defaults;
    bit<8> constructed;
}

action add(inout bit<8> x, bit<8> v) {
    x = x + v;
}

bit<8> f(in bit<8> x = 9, in bit<8> y = 4) {
    return x - y;
}

control Sub(inout bit<8> r, in bit<8> a)(bit<8> k = 7) {
    table t {
        key = { a : exact; }
        actions = { add(r); NoAction; }
        default_action = NoAction();
        const entries = {
            1 : add(r, 0x10);
        }
    }

    apply {
        r = r + k;
        t.apply();
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Sub() with_default;
    Sub(1) with_value;

    table t {
        key = { d.a : exact; }
        actions = { add(d.first); NoAction; }
        default_action = NoAction();
    }

    apply {
        add(d.first, d.a);
        t.apply();
        with_value.apply(d.second, d.a);
        d.defaults = f() + f(y = 1) + f(2);
        with_default.apply(d.constructed, d.a);
    }
}

#include "frame/one_header.p4"
