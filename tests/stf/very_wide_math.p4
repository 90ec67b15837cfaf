// 512 bits: sums, products, shifts, comparisons, negation and signs far beyond machine words.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<512> a;
    bit<512> b;
    bit<512> sum;
    bit<512> product;
    bit<512> left;
    bit<512> saturated;
    int<512> signed;
    bit<8> flags;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum = d.a + d.b;
        d.product = d.a * d.b;
        d.left = d.a << 300;
        d.saturated = d.a |+| d.b;
        d.signed = (int<512>) d.a >> 500;
        d.flags = (bit<1>) (d.a < d.b) ++ (bit<1>) (d.a == d.b) ++ (bit<1>) ((int<512>) d.a < (int<512>) d.b) ++ (bit<5>) d.a[511:509];
    }
}

#include "frame/one_header.p4"
