// Left shifts by run-time amounts, below, at and far beyond the width.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> by;
    bit<1> a1;
    bit<7> a7;
    bit<8> a8;
    bit<9> a9;
    bit<31> a31;
    bit<33> a33;
    bit<63> a63;
    bit<64> a64;
    bit<65> a65;
    bit<127> a127;
    bit<128> a128;
    bit<129> a129;
    bit<256> a256;
    bit<1> r1;
    bit<7> r7;
    bit<8> r8;
    bit<9> r9;
    bit<31> r31;
    bit<33> r33;
    bit<63> r63;
    bit<64> r64;
    bit<65> r65;
    bit<127> r127;
    bit<128> r128;
    bit<129> r129;
    bit<256> r256;
    bit<6> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.r1 = d.a1 << d.by;
        d.r7 = d.a7 << d.by;
        d.r8 = d.a8 << d.by;
        d.r9 = d.a9 << d.by;
        d.r31 = d.a31 << d.by;
        d.r33 = d.a33 << d.by;
        d.r63 = d.a63 << d.by;
        d.r64 = d.a64 << d.by;
        d.r65 = d.a65 << d.by;
        d.r127 = d.a127 << d.by;
        d.r128 = d.a128 << d.by;
        d.r129 = d.a129 << d.by;
        d.r256 = d.a256 << d.by;
    }
}

#include "frame/one_header.p4"
