// Section 14.2.1.4.1: priorities: given, derived by steps from the one before, or all derived; largest wins, or smallest if the
// table says so.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> k;
    bit<8> given;
    bit<8> smallest;
    bit<8> derived;
    bit<8> mixed;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action g(bit<8> v) { d.given = v; }
    action s(bit<8> v) { d.smallest = v; }
    action e(bit<8> v) { d.derived = v; }
    action m(bit<8> v) { d.mixed = v; }

    table given {
        key = { d.k: ternary; }
        actions = { g; NoAction; }
        default_action = NoAction();
        @noWarn("entries_out_of_priority_order")
        entries = {
            priority = 10: 0x01 &&& 0x01: g(1);
            priority = 30: 0x02 &&& 0x02: g(2);
            priority = 20: 0x04 &&& 0x04: g(3);
        }
    }

    table smallest {
        key = { d.k: ternary; }
        actions = { s; NoAction; }
        default_action = NoAction();
        largest_priority_wins = false;
        priority_delta = 10;
        @noWarn("duplicate_priorities")
        entries = {
            const priority = 30: 0x01 &&& 0x01: s(1);
                                 0x02 &&& 0x02: s(2);   // 40
                  priority = 25: 0x04 &&& 0x04: s(3);
                                 0x08 &&& 0x08: s(4);   // 35
        }
    }

    // By the order of the text.
    table derived {
        key = { d.k: ternary; }
        actions = { e; NoAction; }
        default_action = NoAction();
        entries = {
            0x01 &&& 0x01: e(1);
            0x02 &&& 0x02: e(2);
            0x04 &&& 0x04: e(3);
        }
    }

    // 50, 47, 48, 45.
    table mixed {
        key = { d.k: ternary; }
        actions = { m; NoAction; }
        default_action = NoAction();
        largest_priority_wins = true;
        priority_delta = 3;
        @noWarn("entries_out_of_priority_order")
        entries = {
            priority = 50: 0x01 &&& 0x01: m(1);
                           0x02 &&& 0x02: m(2);
            priority = 48: 0x04 &&& 0x04: m(3);
                           0x08 &&& 0x08: m(4);
        }
    }

    apply {
        given.apply();
        smallest.apply();
        derived.apply();
        mixed.apply();
    }
}

#include "../stf/frame/one_header.p4"
