// Concatenations that meet inside, at and beyond 64 and 128 bits.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<1> a0;
    bit<63> b0;
    bit<64> r0;
    bit<1> a1;
    bit<64> b1;
    bit<65> r1;
    bit<63> a2;
    bit<65> b2;
    bit<128> r2;
    bit<64> a3;
    bit<64> b3;
    bit<128> r3;
    bit<65> a4;
    bit<63> b4;
    bit<128> r4;
    bit<31> a5;
    bit<33> b5;
    bit<64> r5;
    bit<7> a6;
    bit<121> b6;
    bit<128> r6;
    bit<127> a7;
    bit<1> b7;
    bit<128> r7;
    bit<1> a8;
    bit<127> b8;
    bit<128> r8;
    bit<128> a9;
    bit<128> b9;
    bit<256> r9;
    bit<127> a10;
    bit<129> b10;
    bit<256> r10;
    bit<3> a11;
    bit<253> b11;
    bit<256> r11;
    bit<129> three;
    bit<5> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.r0 = d.a0 ++ d.b0;
        d.r1 = d.a1 ++ d.b1;
        d.r2 = d.a2 ++ d.b2;
        d.r3 = d.a3 ++ d.b3;
        d.r4 = d.a4 ++ d.b4;
        d.r5 = d.a5 ++ d.b5;
        d.r6 = d.a6 ++ d.b6;
        d.r7 = d.a7 ++ d.b7;
        d.r8 = d.a8 ++ d.b8;
        d.r9 = d.a9 ++ d.b9;
        d.r10 = d.a10 ++ d.b10;
        d.r11 = d.a11 ++ d.b11;
        d.three = d.a0 ++ d.b0 ++ d.a1 ++ d.b1;
    }
}

#include "frame/one_header.p4"
