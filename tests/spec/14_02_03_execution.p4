// Section 14.2.3: applying a table: the key, the lookup, the action of the entry or the default action, with its arguments copied
// in and out.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> x;
    bit<8> y;
    bit<8> result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    // `d.key` and what stands for it in the call are different while the action runs.
    action entry(inout bit<8> a, in bit<8> b, out bit<8> c, bit<8> data) {
        a = a + data;
        d.key = 0x55;
        c = a + b;
    }

    action other(bit<8> data) {
        d.y = data;
    }

    table m {
        key = { d.key: exact; }
        actions = { entry(d.key, d.x, d.result); other; }
        default_action = other(9);
    }

    apply {
        m.apply();
        bool hit = m.apply().hit;
        d.x = hit ? 8w1 : 2;
    }
}

#include "../stf/frame/one_header.p4"
