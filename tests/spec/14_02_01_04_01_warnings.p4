// Section 14.2.1.4.1: equal priorities, and entries that are not in the order of their priorities, are worth warnings.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> k;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action g(bit<8> v) { d.k = v; }

    table given {
        key = { d.k: ternary; }
        actions = { g; NoAction; }
        default_action = NoAction();
        entries = {
            priority = 10: 0x01 &&& 0x01: g(1);
            priority = 30: 0x02 &&& 0x02: g(2); //~ W0038
            priority = 30: 0x04 &&& 0x04: g(3); //~ W0037
        }
    }

    apply {
        given.apply();
    }
}

#include "../stf/frame/one_header.p4"
