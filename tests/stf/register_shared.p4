// A register in ingress and one in egress are two; what is written through the control plane is read by packets,
// and reset.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  what;
    bit<16> in_ingress;
    bit<16> in_egress;
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
    register<bit<16>>(8) seen;

    apply {
        std.egress_spec = std.ingress_port;
        seen.read(hdr.data.in_ingress, (bit<32>) hdr.data.what);
        seen.write((bit<32>) hdr.data.what, hdr.data.in_ingress + 1);
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<16>>(8) seen;

    apply {
        seen.read(hdr.data.in_egress, (bit<32>) hdr.data.what);
        seen.write((bit<32>) hdr.data.what, hdr.data.in_egress + 0x10);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
