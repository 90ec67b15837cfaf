// Exact, range, optional and ternary keys in one table; keys that an entry does not name match anything.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> proto;
    bit<16> port;
    bit<12> vlan;
    bit<4> zero;
    bit<8> flags;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    table t {
        key = {
            d.proto : exact;
            d.port  : range;
            d.vlan  : optional;
            d.flags : ternary;
        }
        actions = { set; }
    }

    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"
