// Fixed-width arithmetic wraps around; both operands and the result have one width.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> sum;
    bit<8> difference;
    bit<8> product;
    bit<8> quotient;
    bit<8> remainder;
    bit<8> negated;
    bit<8> inverted;
    bit<8> masked;
    bit<8> either;
    bit<8> one_of;
    int<8> signed_sum;
    int<8> signed_product;
    bit<8> positive;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum = d.a + d.b;
        d.difference = d.a - d.b;
        d.product = d.a * d.b;
        d.quotient = d.a / 7;
        d.remainder = d.a % 7;
        d.negated = -d.a;
        d.inverted = ~d.a;
        d.masked = d.a & d.b;
        d.either = d.a | d.b;
        d.one_of = d.a ^ d.b;
        d.signed_sum = (int<8>)d.a + (int<8>)d.b;
        d.signed_product = (int<8>)d.a * (int<8>)d.b;
        d.positive = +d.a;
    }
}

#include "frame/one_header.p4"
