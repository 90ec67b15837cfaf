// A fold over the bits of a wide value by masks and shifts, a byte swap and a bit reversal, on 64 and 128 bits.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<64> a;
    bit<128> b;
    bit<64> swapped;
    bit<64> reversed;
    bit<8> ones;
    bit<128> rotated;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<64> x = d.a;
        d.swapped = x[7:0] ++ x[15:8] ++ x[23:16] ++ x[31:24] ++ x[39:32] ++ x[47:40] ++ x[55:48] ++ x[63:56];
        x = (x & 0x5555555555555555) << 1 | (x >> 1) & 0x5555555555555555;
        x = (x & 0x3333333333333333) << 2 | (x >> 2) & 0x3333333333333333;
        x = (x & 0x0f0f0f0f0f0f0f0f) << 4 | (x >> 4) & 0x0f0f0f0f0f0f0f0f;
        d.reversed = x[7:0] ++ x[15:8] ++ x[23:16] ++ x[31:24] ++ x[39:32] ++ x[47:40] ++ x[55:48] ++ x[63:56];
        bit<128> c = d.b;
        c = (c & 0x55555555555555555555555555555555) + (c >> 1 & 0x55555555555555555555555555555555);
        c = (c & 0x33333333333333333333333333333333) + (c >> 2 & 0x33333333333333333333333333333333);
        c = (c + (c >> 4)) & 0x0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f;
        d.ones = (c * 0x01010101010101010101010101010101)[127:120];
        d.rotated = d.b << d.a[6:0] | d.b >> (8w128 - (bit<8>) d.a[6:0]);
    }
}

#include "frame/one_header.p4"
