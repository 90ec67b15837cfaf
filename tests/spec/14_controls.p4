// Section 14: a control with constants, variables, actions, tables and instances before its `apply`.
// Section 14.1: actions with data of the control plane and with parameters that the program binds.
// Section 14.2: a table with a key, actions, a default action and a size.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

control Inner(inout bit<8> x) {
    apply {
        x = x + 1;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    const bit<8> START = 3;
    bit<8> local = START;
    Inner() inner;

    action set(out bit<8> to, bit<8> data) {
        to = data + local;
    }

    action both(inout bit<8> first, in bit<8> more, bit<8> x, bit<8> y) {
        first = first + more + x + y;
    }

    action chain(bit<8> data) {
        set(d.c, data);
        local = 0;
        set(d.b, data);
    }

    table t {
        key = { d.key: exact; }
        actions = { set(d.a); both(d.b, d.key); chain; }
        default_action = set(d.a, 9);
        size = 16;
    }

    apply {
        inner.apply(local);
        t.apply();
        set(d.key, 1);
    }
}

#include "../stf/frame/one_header.p4"
