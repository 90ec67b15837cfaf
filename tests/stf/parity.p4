// Whether an odd number of bits of a value are ones, at several widths, of fields, of computed values, and in conditions.

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
    bit<8> chosen;
    bit<6> padding;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.r1 = parity(d.a1);
        d.r7 = parity(d.a7);
        d.r8 = parity(d.a8);
        d.r33 = parity(d.a33);
        d.r64 = parity(d.a64);
        d.r65 = parity(d.a65);
        d.r135 = parity(d.a135);
        d.joined = parity(d.a7 ++ d.a8 ++ 1w1) + parity((bit<16>) d.a33);
        d.chosen = parity(d.a64 ^ (bit<64>) d.a8) == 1 ? 8w0xaa : parity(d.a8) + 8w0x10;
    }
}

#include "frame/one_header.p4"
