// Suffix keys: an entry gives the lowest bits of a key, and the longest suffix that matches wins. An exact key and a prefix beside them; of
// entries that compare equally many bits, the one added first.

#include <core.p4>
#include <v1model.p4>

match_kind {
    suffix
}

header data_t {
    bit<16> a;
    bit<65> b;
    bit<7> c;
    bit<8> r;
    bit<8> s;
    bit<8> t;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    action mark(bit<8> v) {
        d.s = v;
    }

    action both(bit<8> v) {
        d.t = v;
    }

    table t {
        key = {
            d.b : suffix;
            d.c : exact;
        }
        actions = { set; }
        size = 64;
    }

    table fixed {
        key = {
            d.a : suffix;
        }
        actions = { mark; }
        const entries = {
            _ : mark(1);
            0x0007 &&& 0x000f : mark(2);
            0x1237 : mark(3);
            0x0037 &&& 0x00ff : mark(4);
            0x0237 &&& 0x0fff : mark(5);
            0x0001 &&& 0x0001 : mark(6);
        }
    }

    table mixed {
        key = {
            d.a : suffix;
            d.c : lpm;
        }
        actions = { both; }
    }

    apply {
        t.apply();
        fixed.apply();
        mixed.apply();
    }
}

#include "frame/one_header.p4"
