// Hashes of "123456789", whose values every catalogue gives (CRC-16/ARC bb3d, CRC-32 cbf43926), and of other data.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<72> data;
    bit<32> c32;
    bit<16> c16;
    bit<16> sum;
    bit<16> x;
    bit<4> low;
    bit<12> based;
    bit<64> wide;
    bit<16> offset;
    bit<1> two;
    bit<7> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        hash(d.c32, HashAlgorithm.crc32, 32w0, { d.data }, 64w1 << 32);
        hash(d.c16, HashAlgorithm.crc16, 16w0, { d.data }, 32w1 << 16);
        hash(d.sum, HashAlgorithm.csum16, 16w0, { d.data }, 32w1 << 16);
        hash(d.x, HashAlgorithm.xor16, 16w0, { d.data }, 32w1 << 16);
        hash(d.low, HashAlgorithm.crc32, 4w0, { d.data }, 8w16);
        hash(d.based, HashAlgorithm.crc16, 12w1000, { d.data }, 12w100);
        hash(d.wide, HashAlgorithm.crc32, 64w0, { d.data }, 64w1 << 32);
        hash(d.offset, HashAlgorithm.crc32, 16w0xfff0, { d.data }, 16w0x100);
        hash(d.two, HashAlgorithm.csum16, 1w0, { d.data }, 2w2);
    }
}

#include "frame/one_header.p4"
