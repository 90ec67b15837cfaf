// truncate: to nothing, inside a header, at its end, inside and behind the payload; the last call counts; in
// ingress too.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> in_ingress;
    bit<16> in_egress;
    bit<16> x;
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

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.data.in_ingress != 0xffff) {
            truncate((bit<32>) hdr.data.in_ingress);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.data.in_egress != 0xffff) {
            truncate((bit<32>) hdr.data.in_egress);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
