// A checksum over header and payload is verified before ingress, of even and odd length; a wrong byte anywhere is
// found.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> x;
    bit<16> sum;
    bit<8>  wrong;
    bit<8>  y;
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
        verify_checksum_with_payload(true, { hdr.data.x, hdr.data.y, 8w0 }, hdr.data.sum, HashAlgorithm.csum16);
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.data.wrong = (bit<8>) std.checksum_error;
        hdr.data.x = hdr.data.x + 1;
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum_with_payload(hdr.data.wrong == 0, { hdr.data.x, hdr.data.y, 8w0 }, hdr.data.sum, HashAlgorithm.csum16);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), Verify(), TestIngress(), NoEgress(), Update(), TestDeparser()) main;
