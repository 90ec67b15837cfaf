// verify_checksum sets checksum_error and nothing else; update_checksum writes; both only when the condition holds.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  verify;
    bit<8>  update;
    bit<16> x;
    bit<32> y;
    bit<16> sum;
}

header result_t {
    bit<8> checksum_error;
}

struct headers_t {
    result_t result;
    data_t   data;
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
        verify_checksum(hdr.data.verify == 1, { hdr.data.verify, hdr.data.update, hdr.data.x, hdr.data.y }, hdr.data.sum,
                        HashAlgorithm.csum16);
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result.setValid();
        hdr.result.checksum_error = (bit<8>)std.checksum_error;
        hdr.data.x = hdr.data.x + 1;
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.data.update == 1, { hdr.data.verify, hdr.data.update, hdr.data.x, hdr.data.y }, hdr.data.sum,
                        HashAlgorithm.csum16);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), Verify(), TestIngress(), NoEgress(), Update(), TestDeparser()) main;
