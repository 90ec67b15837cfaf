// The bits of a value in reverse order, at several widths, of fields, of computed values, and twice.

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
    bit<1> r1;
    bit<7> r7;
    bit<8> r8;
    bit<33> r33;
    bit<64> r64;
    bit<65> r65;
    bit<135> r135;
    bit<16> joined;
    bit<8> twice;
    bit<6> both;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.r1 = reverse_bits(d.a1);
        d.r7 = reverse_bits(d.a7);
        d.r8 = reverse_bits(d.a8);
        d.r33 = reverse_bits(d.a33);
        d.r64 = reverse_bits(d.a64);
        d.r65 = reverse_bits(d.a65);
        d.r135 = reverse_bits(d.a135);
        d.joined = reverse_bits(d.a7 ++ d.a8 ++ 1w1) + reverse_bits((bit<16>) d.a33);
        d.twice = reverse_bits(reverse_bits(d.a8) + 1);
        d.both = reverse_bits(d.a64)[5:0] ^ reverse_bits(d.a7[5:0]);
    }
}

#include "frame/one_header.p4"
