// hit, miss and action_run of one application each; an entry with NoAction is a hit; the default action is none.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> hit;
    bit<8> miss;
    bit<8> ran;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action one(bit<8> v) {
        d.r = d.r + v;
    }

    action two() {
        d.r = d.r + 6;
    }

    action other() {}

    table t {
        key = { d.a : exact; }
        actions = { one; two; NoAction; @defaultonly other; }
        default_action = other();
        const entries = {
            1 : one(5);
            2 : two();
            3 : NoAction();
        }
    }

    table u {
        key = { d.a : exact; }
        actions = { NoAction; }
        const entries = {
            1 : NoAction();
            2 : NoAction();
            3 : NoAction();
        }
    }

    table w {
        key = { d.a : exact; }
        actions = { NoAction; }
        const entries = {
            1 : NoAction();
            2 : NoAction();
            3 : NoAction();
        }
    }

    apply {
        switch (t.apply().action_run) {
            one: { d.ran = 1; }
            two: { d.ran = 2; }
            NoAction: { d.ran = 3; }
            other: { d.ran = 0xdd; }
        }
        d.hit = u.apply().hit ? 8w1 : 0;
        if (w.apply().miss) {
            d.miss = 1;
        } else {
            d.miss = 0;
        }
    }
}

#include "frame/one_header.p4"
