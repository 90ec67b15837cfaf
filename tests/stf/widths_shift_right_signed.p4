// Right shifts of int<W> by run-time amounts bring in the sign, also at and beyond the width.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> by;
    int<2> a2;
    int<7> a7;
    int<8> a8;
    int<9> a9;
    int<31> a31;
    int<33> a33;
    int<63> a63;
    int<64> a64;
    int<65> a65;
    int<127> a127;
    int<128> a128;
    int<129> a129;
    int<256> a256;
    int<2> r2;
    int<7> r7;
    int<8> r8;
    int<9> r9;
    int<31> r31;
    int<33> r33;
    int<63> r63;
    int<64> r64;
    int<65> r65;
    int<127> r127;
    int<128> r128;
    int<129> r129;
    int<256> r256;
    bit<4> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.r2 = d.a2 >> d.by;
        d.r7 = d.a7 >> d.by;
        d.r8 = d.a8 >> d.by;
        d.r9 = d.a9 >> d.by;
        d.r31 = d.a31 >> d.by;
        d.r33 = d.a33 >> d.by;
        d.r63 = d.a63 >> d.by;
        d.r64 = d.a64 >> d.by;
        d.r65 = d.a65 >> d.by;
        d.r127 = d.a127 >> d.by;
        d.r128 = d.a128 >> d.by;
        d.r129 = d.a129 >> d.by;
        d.r256 = d.a256 >> d.by;
    }
}

#include "frame/one_header.p4"
