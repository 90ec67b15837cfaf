// Forty ternary entries over keys of 16 and 65 bits: the highest priority wins, of equals the one added first.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> a;
    bit<65> b;
    bit<7> zero;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    table t {
        key = {
            d.a : ternary;
            d.b : ternary;
        }
        actions = { set; }
        size = 64;
    }

    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"
