// Longest prefix match beside exact keys: the others must be equal first, then the longest prefix counts.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> vrf;
    bit<8> a;
    bool flag;
    bit<7> zero;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    table t {
        key = {
            d.vrf  : exact;
            d.a    : lpm;
            d.flag : exact;
        }
        actions = { set; NoAction; }
        default_action = NoAction();
    }

    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"
