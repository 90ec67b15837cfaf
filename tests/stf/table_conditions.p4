// Tables in conditions: &&, ||, ?: and ! apply a table only when they need its result.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> applied;
    bit<8> and_hit;
    bit<8> or_hit;
    bit<8> choice;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action mark() {
        d.applied = d.applied + 1;
    }

    table t {
        key = { d.key : exact; }
        actions = { mark; }
        default_action = mark();
    }

    apply {
        if (d.key > 1 && t.apply().hit) {
            d.and_hit = 1;
        }
        if (d.key > 2 || !t.apply().hit) {
            d.or_hit = 1;
        }
        d.choice = d.key == 0 ? 8w9 : (t.apply().miss ? 8w1 : 2);
    }
}

#include "frame/one_header.p4"
