// switch on action_run of a table with many actions, in a loop-free chain; the same table name in two controls;
// nested switches.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> r;
}

control Sub(inout data_t d) {
    action low() {}
    action high(bit<8> v) {
        d.r = d.r + v;
    }

    table t {
        key = { d.b : ternary; }
        actions = { low; high; }
        default_action = low();
        const entries = {
            0x80 &&& 0x80 : high(0x40);
        }
    }

    apply {
        switch (t.apply().action_run) {
            low: { d.r = d.r + 1; }
            high: {
                switch (d.b) {
                    0x80: { d.r = d.r + 2; }
                    default: { d.r = d.r + 3; }
                }
            }
        }
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Sub() sub;

    action low() {}
    action middle() {}
    action high() {}

    table t {
        key = { d.a : range; }
        actions = { low; middle; high; }
        default_action = high();
        const entries = {
            0 .. 9   : low();
            10 .. 99 : middle();
        }
    }

    apply {
        switch (t.apply().action_run) {
            low:
            middle: {
                d.r = 0x10;
                sub.apply(d);
            }
            default: {
                d.r = 0x20;
            }
        }
    }
}

#include "frame/one_header.p4"
