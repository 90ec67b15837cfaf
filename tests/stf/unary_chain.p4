// Chains of unary operators and casts, each at the width of its operand.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> r1;
    bit<8> r2;
    bit<16> r3;
    bit<16> r4;
    int<16> r5;
    bit<16> r6;
    bit<8> r7;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.r1 = ~~d.a;
        d.r2 = - - -d.a;
        d.r3 = (bit<16>) ~d.a;
        d.r4 = ~(bit<16>) d.a;
        d.r5 = -(int<16>) (int<8>) d.a;
        d.r6 = (bit<16>) (int<16>) -(int<8>) d.a;
        d.r7 = (bit<8>) (bit<4>) -(bit<8>) (bit<4>) d.a;
    }
}

#include "frame/one_header.p4"
