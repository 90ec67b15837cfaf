// Multicast: one port in several nodes and twice in one, nodes in several groups, changed nodes, empty and unknown
// groups.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> group;
    bit<8> rid;
    bit<8> port;
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
        std.egress_spec = 9;
        std.mcast_grp = hdr.data.group;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.rid = (bit<8>) std.egress_rid;
        hdr.data.port = (bit<8>) std.egress_port;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
