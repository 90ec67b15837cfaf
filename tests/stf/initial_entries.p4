// Entries that the program starts with and the control plane adds to: priorities of both count together.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> exact_result;
    bit<8> ternary_result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set_exact(bit<8> v) {
        d.exact_result = v;
    }

    action set_ternary(bit<8> v) {
        d.ternary_result = v;
    }

    table by_value {
        key = { d.a : exact; }
        actions = { set_exact; NoAction; }
        default_action = NoAction();
        entries = {
            const 1 : set_exact(0x11);
            2       : set_exact(0x22);
        }
    }

    table by_mask {
        key = { d.a : ternary; }
        actions = { set_ternary; NoAction; }
        default_action = NoAction();
        entries = {
            priority = 10 : 0x10 &&& 0xf0 : set_ternary(0x11);
            priority = 20 : 0x01 &&& 0x0f : set_ternary(0x22);
        }
    }

    apply {
        by_value.apply();
        by_mask.apply();
    }
}

#include "frame/one_header.p4"
