// update_checksum with each algorithm, into fields of 16 and 32 bits, over fields that do not fill bytes;
// conditions.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<4>  a;
    bit<12> b;
    bit<32> c;
    bit<16> sum;
    bit<16> crc16;
    bit<32> crc32;
    bit<16> xor;
    bit<16> same;
    bit<16> never;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    bool yes;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        meta.yes = hdr.data.a != 0;
        hdr.data.b = hdr.data.b + 1;
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(true, { hdr.data.a, hdr.data.b, hdr.data.c }, hdr.data.sum, HashAlgorithm.csum16);
        update_checksum(true, { hdr.data.a, hdr.data.b, hdr.data.c }, hdr.data.crc16, HashAlgorithm.crc16);
        update_checksum(true, { hdr.data.a, hdr.data.b, hdr.data.c }, hdr.data.crc32, HashAlgorithm.crc32);
        update_checksum(meta.yes, { hdr.data.a, hdr.data.b, hdr.data.c }, hdr.data.xor, HashAlgorithm.xor16);
        // The sum that was just written is part of the next.
        update_checksum(true, { hdr.data.sum, 16w0x1234 }, hdr.data.same, HashAlgorithm.csum16);
        update_checksum(false, { hdr.data.sum }, hdr.data.never, HashAlgorithm.csum16);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), NoEgress(), Update(), TestDeparser()) main;
