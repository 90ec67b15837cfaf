// The control plane changes a default action again and again, also to one with data; each packet sees the one of
// its time.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    action add(bit<8> v, bit<8> w) {
        d.r = d.r + v + w;
    }

    table t {
        key = { d.a : exact; }
        actions = { set; add; NoAction; }
        default_action = set(0x10);
    }

    table keyless {
        actions = { add; NoAction; }
    }

    apply {
        t.apply();
        keyless.apply();
    }
}

#include "frame/one_header.p4"
