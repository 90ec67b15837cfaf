// Exact tables: several keys of different widths, expressions as keys, hit, miss and default action.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<4>  a;
    bit<4>  b;
    bit<16> c;
    bit<8>  result;
    bit<8>  hit;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> value) {
        d.result = value;
    }

    action missed(bit<8> value) {
        d.result = value | 0x80;
    }

    table t {
        key = {
            d.a : exact;
            d.c : exact @name("wide");
            d.b + 1 : exact @name("next_b");
        }
        actions = { set; missed; }
        default_action = missed(1);
        size = 16;
    }

    apply {
        if (t.apply().hit) {
            d.hit = 1;
        } else if (t.apply().miss) {
            d.hit = 2;
        }
    }
}

#include "frame/one_header.p4"
