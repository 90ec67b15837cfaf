// A row of compound assignments on one field, at every width: each sees the result of the one before.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<1> a1;
    bit<1> b1;
    bit<7> a7;
    bit<7> b7;
    bit<9> a9;
    bit<9> b9;
    bit<33> a33;
    bit<33> b33;
    bit<64> a64;
    bit<64> b64;
    bit<65> a65;
    bit<65> b65;
    bit<129> a129;
    bit<129> b129;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.a1 += d.b1;
        d.a1 ^= d.b1;
        d.a1 |+|= d.b1;
        d.a1 <<= 1;
        d.a1 -= d.b1;
        d.a1 >>= 1;
        d.a1 |-|= d.b1;
        d.a1 *= d.b1;
        d.a7 += d.b7;
        d.a7 ^= d.b7;
        d.a7 |+|= d.b7;
        d.a7 <<= 1;
        d.a7 -= d.b7;
        d.a7 >>= 1;
        d.a7 |-|= d.b7;
        d.a7 *= d.b7;
        d.a9 += d.b9;
        d.a9 ^= d.b9;
        d.a9 |+|= d.b9;
        d.a9 <<= 1;
        d.a9 -= d.b9;
        d.a9 >>= 1;
        d.a9 |-|= d.b9;
        d.a9 *= d.b9;
        d.a33 += d.b33;
        d.a33 ^= d.b33;
        d.a33 |+|= d.b33;
        d.a33 <<= 1;
        d.a33 -= d.b33;
        d.a33 >>= 1;
        d.a33 |-|= d.b33;
        d.a33 *= d.b33;
        d.a64 += d.b64;
        d.a64 ^= d.b64;
        d.a64 |+|= d.b64;
        d.a64 <<= 1;
        d.a64 -= d.b64;
        d.a64 >>= 1;
        d.a64 |-|= d.b64;
        d.a64 *= d.b64;
        d.a65 += d.b65;
        d.a65 ^= d.b65;
        d.a65 |+|= d.b65;
        d.a65 <<= 1;
        d.a65 -= d.b65;
        d.a65 >>= 1;
        d.a65 |-|= d.b65;
        d.a65 *= d.b65;
        d.a129 += d.b129;
        d.a129 ^= d.b129;
        d.a129 |+|= d.b129;
        d.a129 <<= 1;
        d.a129 -= d.b129;
        d.a129 >>= 1;
        d.a129 |-|= d.b129;
        d.a129 *= d.b129;
    }
}

#include "frame/one_header.p4"
