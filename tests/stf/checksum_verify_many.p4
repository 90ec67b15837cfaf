// Several verify_checksum: one that fails is enough, one that does not apply cannot fail; the sum over an empty
// condition.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  conditions;
    bit<16> x;
    bit<16> sum;
    bit<16> y;
    bit<16> sum2;
    bit<8>  result;
}

struct headers_t {
    data_t data;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.data.conditions[0:0] == 1, { hdr.data.x }, hdr.data.sum, HashAlgorithm.csum16);
        verify_checksum(hdr.data.conditions[1:1] == 1, { hdr.data.y }, hdr.data.sum2, HashAlgorithm.csum16);
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.data.result = (bit<8>) std.checksum_error | (std.parser_error == error.NoError ? 8w0 : 0x80);
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), Verify(), TestIngress(), NoEgress(), NoChecksums(), TestDeparser()) main;
