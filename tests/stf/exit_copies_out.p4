// exit from an action called by an action in a control in a control: every level copies out on the way.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> mark;
}

control Inner(inout bit<8> x, out bit<8> y, in bit<8> what) {
    action leave(inout bit<8> v) {
        v = v + 1;
        exit;
    }

    action outer(inout bit<8> v) {
        v = v + 0x10;
        leave(v);
        v = v + 0x80;
    }

    apply {
        y = 0x33;
        if (what == 1) {
            outer(x);
        }
        if (what == 2) {
            return;
        }
        y = 0x44;
        if (what == 3) {
            exit;
        }
        x = x + 2;
    }
}

control Middle(inout bit<8> p, inout bit<8> q, in bit<8> what) {
    Inner() inner;

    apply {
        p = p + 3;
        inner.apply(p, q, what);
        p = p + 4;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Middle() middle;

    apply {
        d.c = 1;
        middle.apply(d.a, d.b, d.what);
        d.mark = 0xff;
    }
}

#include "frame/one_header.p4"
