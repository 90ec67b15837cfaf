// Priorities of entries in the program when the smaller number is to win, and with a step of its own.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    table t {
        key = { d.a : ternary; }
        actions = { set; NoAction; }
        default_action = NoAction();
        largest_priority_wins = false;
        priority_delta = 10;
        entries = {
            priority = 20 : 0x01 &&& 0x01 : set(1);
            0x02 &&& 0x02 : set(2);
            priority = 25 : 0x04 &&& 0x04 : set(3);
            priority = 1 : 0xff : set(4);
        }
    }

    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"
