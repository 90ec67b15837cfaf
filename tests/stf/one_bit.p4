// Arithmetic of one bit: sums, differences and negation are exclusive or; saturation and shifts at the narrowest.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<1> a;
    bit<1> b;
    bit<1> sum;
    bit<1> difference;
    bit<1> negated;
    bit<1> inverted;
    bit<1> product;
    bit<1> saturated;
    bit<1> floored;
    bit<1> shifted;
    bit<1> less;
    bit<1> shifted_by_self;
    bit<2> both;
    bit<2> neither;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum = d.a + d.b;
        d.difference = d.a - d.b;
        d.negated = -d.a;
        d.inverted = ~d.a;
        d.product = d.a * d.b;
        d.saturated = d.a |+| d.b;
        d.floored = d.a |-| d.b;
        d.shifted = d.a << 1;
        d.less = (bit<1>) (d.a < d.b);
        d.shifted_by_self = d.a >> d.b;
        d.both = d.a ++ d.b;
        d.neither = ~(d.a ++ d.b);
    }
}

#include "frame/one_header.p4"
