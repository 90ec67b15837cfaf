// int<1> has the values 0 and -1, int<2> those from -2 to 1: sums, negation, saturation, comparison, widening.

#include <core.p4>
#include <v1model.p4>

header data_t {
    int<1> a;
    int<1> b;
    int<2> c;
    int<2> e;
    int<1> sum;
    int<1> negated;
    int<1> saturated;
    bit<1> less;
    int<8> wide;
    int<2> sum2;
    int<2> negated2;
    int<2> saturated2;
    int<2> floored2;
    int<8> product2;
    bit<6> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum = d.a + d.b;
        d.negated = -d.a;
        d.saturated = d.a |+| d.b;
        d.less = (bit<1>) (d.a < d.b);
        d.wide = (int<8>) d.a;
        d.sum2 = d.c + d.e;
        d.negated2 = -d.c;
        d.saturated2 = d.c |+| d.e;
        d.floored2 = d.c |-| d.e;
        d.product2 = (int<8>) (d.c * d.e);
    }
}

#include "frame/one_header.p4"
