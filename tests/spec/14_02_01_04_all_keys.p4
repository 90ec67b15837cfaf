// Section 14.2.1.4: `_` alone as an entry stands for all keys at once.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> e;
    bit<8> t;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> r) {
        d.r = r;
    }

    table both {
        key = {
            d.e: ternary;
            d.t: ternary;
        }
        actions = { set; NoAction; }
        default_action = NoAction();
        const entries = {
            (1, 2): set(1);
            (1, _): set(2);
            _: set(3);
        }
    }

    apply {
        both.apply();
    }
}

#include "../stf/frame/one_header.p4"
