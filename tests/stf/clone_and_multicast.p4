// A packet that is copied by a session and sent to a multicast group: the copy and every replica leave.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> kind;
    bit<8> rid;
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
        std.mcast_grp = 1;
        std.egress_spec = 9;
        clone(CloneType.I2E, 1);
        hdr.data.what = hdr.data.what + 1;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.kind = (bit<8>) std.instance_type;
        hdr.data.rid = (bit<8>) std.egress_rid;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
