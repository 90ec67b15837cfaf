// Range keys at their bounds, of one value, of everything; overlapping ones by priority, then by the order of
// adding.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<32> b;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    table t {
        key = {
            d.a : range;
            d.b : range;
        }
        actions = { set; }
    }

    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"
