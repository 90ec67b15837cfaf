// Multicast groups make a copy for every port of every node, each with its number; a group of 0 is none.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> group;
    bit<8> replica;
    bit<8> port;
    bit<8> instance_type;
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
        std.egress_spec = 4;
        std.mcast_grp = (bit<16>)hdr.data.group;
        if (hdr.data.group == 3) {
            mark_to_drop(std);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.replica = (bit<8>)std.egress_rid;
        hdr.data.port = (bit<8>)std.egress_port;
        hdr.data.instance_type = (bit<8>)std.instance_type;
        if (std.egress_port == 9) {
            mark_to_drop(std);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
