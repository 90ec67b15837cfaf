// Longest prefix match on 128 bits: lengths around 64, /0, /1, /127 and /128, added in any order.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<128> address;
    bit<8> hop;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> hop) {
        d.hop = hop;
    }

    table routes {
        key = { d.address : lpm; }
        actions = { set; }
    }

    apply {
        routes.apply();
    }
}

#include "frame/one_header.p4"
