// Entries added between packets are seen by the next one; after remove all only the entries of the program are
// left.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> r;
    bit<8> s;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    action fix(bit<8> v) {
        d.s = v;
    }

    table changing {
        key = { d.a : ternary; }
        actions = { set; }
    }

    table fixed {
        key = { d.a : exact; }
        actions = { fix; }
        const entries = {
            1 : fix(9);
        }
    }

    apply {
        changing.apply();
        fixed.apply();
    }
}

#include "frame/one_header.p4"
