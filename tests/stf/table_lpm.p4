// Longest prefix match: the longest wins whatever the order; with an exact key beside it; /0 and full length.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  vrf;
    bit<32> address;
    bit<8>  result;
    bit<48> wide;
    bit<8>  wide_result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> value) {
        d.result = value;
    }

    action set_wide(bit<8> value) {
        d.wide_result = value;
    }

    table routes {
        key = {
            d.vrf : exact;
            d.address : lpm;
        }
        actions = { set; NoAction; }
        default_action = NoAction();
    }

    table alone {
        key = { d.wide : lpm; }
        actions = { set_wide; }
        default_action = set_wide(0xee);
    }

    apply {
        routes.apply();
        alone.apply();
    }
}

#include "frame/one_header.p4"
