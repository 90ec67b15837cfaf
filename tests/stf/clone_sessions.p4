// Clone sessions: to a port, to a multicast group, to both, changed, deleted; session 0 and the largest.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> session;
    bit<8> port;
    bit<8> rid;
    bit<8> kind;
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
        clone(CloneType.I2E, (bit<32>) hdr.data.session);
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.port = (bit<8>) std.egress_port;
        hdr.data.rid = (bit<8>) std.egress_rid;
        hdr.data.kind = (bit<8>) std.instance_type;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
