// Slices of a value of 256 bits, within and across its words.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<256> a;
    bit<64> r63_0;
    bit<65> r64_0;
    bit<1> r64_64;
    bit<1> r63_63;
    bit<64> r127_64;
    bit<65> r128_64;
    bit<66> r128_63;
    bit<1> r128_128;
    bit<128> r255_128;
    bit<127> r191_65;
    bit<1> r255_255;
    bit<198> r200_3;
    bit<5> r130_126;
    bit<64> r64_1;
    bit<6> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.r63_0 = d.a[63:0];
        d.r64_0 = d.a[64:0];
        d.r64_64 = d.a[64:64];
        d.r63_63 = d.a[63:63];
        d.r127_64 = d.a[127:64];
        d.r128_64 = d.a[128:64];
        d.r128_63 = d.a[128:63];
        d.r128_128 = d.a[128:128];
        d.r255_128 = d.a[255:128];
        d.r191_65 = d.a[191:65];
        d.r255_255 = d.a[255:255];
        d.r200_3 = d.a[200:3];
        d.r130_126 = d.a[130:126];
        d.r64_1 = d.a[64:1];
    }
}

#include "frame/one_header.p4"
