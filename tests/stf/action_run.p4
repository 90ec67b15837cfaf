// switch on action_run: the action that ran decides, also by default; blocks shared by labels; default label.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> ran;
    bit<8> other;
    bit<8> hit;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action a() {}
    action b() {}
    action c(bit<8> value) {
        d.other = value;
    }
    action e() {}

    table t {
        key = { d.key : exact; }
        actions = { a; b; c; e; NoAction; }
        default_action = e();
    }

    table hits {
        key = { d.key : exact; }
        actions = { a; NoAction; }
        default_action = NoAction();
    }

    apply {
        switch (t.apply().action_run) {
            a:
            b: { d.ran = 0x0b; }
            c: { d.ran = d.other + 1; }
            NoAction: {}
            default: { d.ran = 0xdd; }
        }
        // No label for the action that ran, no default: nothing.
        switch (hits.apply().action_run) {
            a: { d.hit = 1; }
        }
        if (!hits.apply().hit) {
            d.hit = d.hit | 0x10;
        }
        bool missed = hits.apply().miss;
        d.hit = d.hit | (missed ? 8w0x20 : 0);
    }
}

#include "frame/one_header.p4"
