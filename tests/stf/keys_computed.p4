// Keys that are computed: sums, slices, concatenations, comparisons, masks, validity, constants, conversions.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    table t {
        key = {
            d.a + d.b               : exact @name("sum");
            d.a[7:4] ++ d.b[3:0]    : ternary @name("mixed");
            d.a < d.b               : exact @name("less");
            (bit<16>) d.a << 1      : range @name("twice");
            d.a & 0x0f              : optional @name("low");
            (int<8>) d.b            : exact @name("signed");
            d.isValid()             : exact @name("valid");
        }
        actions = { set; NoAction; }
        default_action = NoAction();
    }

    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"
