// A prefix beside a ternary key is no more than a mask: the priority decides, not the length.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> a;
    bit<8> b;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    table t {
        key = {
            d.a : lpm;
            d.b : ternary;
        }
        actions = { set; }
    }

    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"
