// Section 12.5: a table whose action exits ends the expression that it is part of: no branch is taken, nothing is assigned or
// called.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

header data_t {
    bit<8> op;
    bit<8> key;
    bit<8> r;
    bit<8> effect;
    bit<8> after;
}

bit<8> bump(inout bit<8> x, in bool b) {
    x = x + 1;
    return x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action leave() {
        d.effect = d.effect + 0x10;
        exit;
    }

    action stay() {
        d.effect = d.effect + 0x20;
    }

    table t {
        key = { d.key: exact; }
        actions = { leave; stay; NoAction; }
        const entries = {
            1: leave();
            2: stay();
        }
        default_action = NoAction();
    }

    table u {
        key = { t.apply().hit: exact @name("hit"); }
        actions = { stay; }
        default_action = stay();
    }

    apply {
        switch (d.op) {
            1: {
                if (t.apply().hit) {
                    d.r = 1;
                } else {
                    d.r = 2;
                }
            }
            2: { d.r = t.apply().miss ? bump(d.effect, true) : 3; }
            3: { d.r = bump(d.effect, t.apply().hit); }
            4: {
                switch (t.apply().action_run) {
                    leave: { d.r = 1; }
                    stay: { d.r = 2; }
                    default: { d.r = 3; }
                }
            }
            5: { u.apply(); }
        }
        d.after = 1;
    }
}

#include "../stf/frame/one_header.p4"
