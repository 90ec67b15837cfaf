// Section 14.2.1.4: entries in the program, with masks, `_` for one key and for all; of ternary entries the first in the text
// wins.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  e;
    bit<16> t;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action a() {
        std.egress_spec = 0;
    }

    action a_params(bit<9> x) {
        std.egress_spec = x;
    }

    table t_exact_ternary {
        key = {
            d.e: exact;
            d.t: ternary;
        }
        actions = { a; a_params; }
        default_action = a;
        const entries = {
            (0x01, 0x1111 &&& 0xF   ): a_params(1);
            (0x02, 0x1181           ): a_params(2);
            (0x03, 0x1111 &&& 0xF000): a_params(3);
            (0x04, 0x1211 &&& 0x02F0): a_params(4);
            (0x04, 0x1311 &&& 0x02F0): a_params(5);
            (0x06, _                ): a_params(6);
            _                        : a;
        }
    }

    apply {
        t_exact_ternary.apply();
    }
}

#include "../stf/frame/one_header.p4"
