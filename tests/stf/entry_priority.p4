// Entries with priorities: in the program the larger number is the better one only if the table says so
// (`largest_priority_wins`, the default), and entries without one continue from the one before.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> largest;
    bit<8> smallest;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action large(bit<8> v) {
        d.largest = v;
    }
    action small(bit<8> v) {
        d.smallest = v;
    }
    table by_largest {
        key = { d.key: ternary; }
        actions = { large; }
        const default_action = large(0xdd);
        largest_priority_wins = true;
        entries = {
            const priority = 10: 0x10 &&& 0xf0: large(1);
            const priority = 30: 0x11: large(2);
            const priority = 20: _: large(3);
        }
    }
    table by_smallest {
        key = { d.key: ternary; }
        actions = { small; }
        const default_action = small(0xdd);
        largest_priority_wins = false;
        entries = {
            const priority = 10: 0x10 &&& 0xf0: small(1);
            const priority = 30: 0x11: small(2);
            const priority = 20: _: small(3);
        }
    }
    apply {
        by_largest.apply();
        by_smallest.apply();
    }
}

#include "frame/one_header.p4"
