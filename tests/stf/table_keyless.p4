// A table without keys always runs its default action; a miss that is, never a hit.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> hit;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set_a(bit<8> value) {
        d.a = value;
    }

    action set_b(bit<8> value) {
        d.b = value;
    }

    table constant {
        actions = { set_a; }
        const default_action = set_a(0x11);
    }

    table changeable {
        key = {}
        actions = { set_b; }
        default_action = set_b(0x22);
    }

    apply {
        d.hit = constant.apply().hit ? 8w1 : 2;
        changeable.apply();
    }
}

#include "frame/one_header.p4"
