// Masked keys: of the entries that match, the one whose masks have most ones wins, of equals the one added first. There
// are no priorities. An exact key beside them.

#include <core.p4>
#include <v1model.p4>

match_kind {
    masked
}

header data_t {
    bit<16> a;
    bit<65> b;
    bit<7> c;
    bit<8> r;
    bit<8> s;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    action mark(bit<8> v) {
        d.s = v;
    }

    table t {
        key = {
            d.a : masked;
            d.b : masked;
            d.c : exact;
        }
        actions = { set; }
        size = 64;
    }

    table fixed {
        key = {
            d.a : masked;
        }
        actions = { mark; }
        const entries = {
            _ : mark(1);
            0x00f0 &&& 0x00f0 : mark(2);
            0x1200 &&& 0xff00 : mark(3);
            0x12f0 &&& 0xfff0 : mark(4);
            0x12f7 : mark(5);
            0x0007 &&& 0x00ff : mark(6);
        }
    }

    apply {
        t.apply();
        fixed.apply();
    }
}

#include "frame/one_header.p4"
