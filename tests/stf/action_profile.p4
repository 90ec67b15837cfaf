// Entries of two tables lead to members of one action profile. A member may be changed under its entries.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> first;
    bit<8> second;
    bit<8> a;
    bit<80> b;
    bit<8> ran;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action_profile(3) shared;

    action small(bit<8> v) {
        d.a = v;
    }

    action wide(bit<8> v, bit<80> w) {
        d.a = v;
        d.b = w;
    }

    action none() {
        d.a = 0xff;
    }

    table t {
        key = { d.first : exact; }
        actions = { small; wide; none; }
        default_action = none();
        implementation = shared;
    }

    table u {
        key = { d.second : ternary; }
        actions = { small; wide; none; }
        default_action = small(0xdd);
        implementation = shared;
    }

    apply {
        switch (t.apply().action_run) {
            small: { d.ran = 1; }
            wide: { d.ran = 2; }
            default: { d.ran = 3; }
        }
        if (d.second != 0) {
            if (u.apply().hit) {
                d.ran = d.ran + 0x10;
            }
        }
    }
}

#include "frame/one_header.p4"
