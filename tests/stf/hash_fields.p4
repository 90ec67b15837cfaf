// Hashes over fields of odd widths joined without gaps, slices, constants, structs and expressions.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<13> x;
    bit<3>  y;
}

header data_t {
    bit<3> a;
    bit<13> b;
    bit<33> c;
    bit<63> e;
    bit<32> r1;
    bit<16> r2;
    bit<16> r3;
    bit<32> r4;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        hash(d.r1, HashAlgorithm.crc32, 32w0, { d.a, d.b, d.c, d.e }, 64w1 << 32);
        hash(d.r2, HashAlgorithm.crc16, 16w0, { d.e, d.a[0:0] }, 32w1 << 16);
        pair_t p = { d.b, d.a };
        hash(d.r3, HashAlgorithm.crc16, 16w0, p, 32w1 << 16);
        hash(d.r4, HashAlgorithm.crc32, 32w0, { p, 8w0x5a }, 64w1 << 32);
    }
}

#include "frame/one_header.p4"
