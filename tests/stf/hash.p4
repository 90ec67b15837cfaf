// The hash extern: base + hash modulo max, over fields in order, also of odd widths; base alone for max 0.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<32> address;
    bit<16> port;
    bit<4>  high;
    bit<4>  low;
    bit<32> crc32;
    bit<16> crc16;
    bit<16> csum16;
    bit<16> xor16;
    bit<8>  bounded;
    bit<8>  no_range;
    bit<16> odd;
    bit<32> identity;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        hash(d.crc32, HashAlgorithm.crc32, 32w0, { d.address, d.port }, 33w0x100000000);
        hash(d.crc16, HashAlgorithm.crc16, 16w0, { d.address, d.port }, 32w0x10000);
        hash(d.csum16, HashAlgorithm.csum16, 16w0, { d.address, d.port }, 32w0x10000);
        hash(d.xor16, HashAlgorithm.xor16, 16w0, { d.address, d.port }, 32w0x10000);
        hash(d.bounded, HashAlgorithm.crc32, 8w100, { d.address, d.port }, 8w10);
        hash(d.no_range, HashAlgorithm.crc32, 8w42, { d.address, d.port }, 8w0);
        hash(d.odd, HashAlgorithm.crc16, 16w0, { d.low, d.port, d.high }, 32w0x10000);
        hash(d.identity, HashAlgorithm.identity, 32w1, { d.port, d.high, d.low }, 32w0xffffff);
    }
}

#include "frame/one_header.p4"
