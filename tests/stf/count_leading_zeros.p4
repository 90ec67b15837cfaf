// How many bits of a value are zeros above its highest one, at several widths, of fields, of computed values, and of a call's own result.

#include <core.p4>
#include <v1model.p4>
#include <bits.p4>

header data_t {
    bit<1> a1;
    bit<7> a7;
    bit<8> a8;
    bit<33> a33;
    bit<64> a64;
    bit<65> a65;
    bit<135> a135;
    bit<1> n1;
    bit<7> n7;
    bit<8> n8;
    bit<33> n33;
    bit<64> n64;
    bit<65> n65;
    bit<135> n135;
    bit<16> sum;
    bit<8> twice;
    bit<6> padding;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.n1 = count_leading_zeros(d.a1);
        d.n7 = count_leading_zeros(d.a7);
        d.n8 = count_leading_zeros(d.a8);
        d.n33 = count_leading_zeros(d.a33);
        d.n64 = count_leading_zeros(d.a64);
        d.n65 = count_leading_zeros(d.a65);
        d.n135 = count_leading_zeros(d.a135);
        d.sum = count_leading_zeros(d.a7 ++ d.a8 ++ 1w1) + count_leading_zeros((bit<16>) d.a33);
        d.twice = count_leading_zeros(count_leading_zeros(d.a64)[7:0]);
    }
}

#include "frame/one_header.p4"
