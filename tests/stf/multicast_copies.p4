// Each replica has headers and metadata of its own: what egress does to one does not show in another; some are
// dropped.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> m;
    bit<8> mark;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    bit<8> m;
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
        std.mcast_grp = 1;
        meta.m = 5;
        hdr.data.x = hdr.data.x + 1;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        meta.m = meta.m + (bit<8>) std.egress_rid;
        hdr.data.m = meta.m;
        hdr.data.x = hdr.data.x + meta.m;
        if (std.egress_rid == 2) {
            mark_to_drop(std);
        } else if (std.egress_rid == 3) {
            hdr.data.setInvalid();
        } else if (std.egress_rid == 4) {
            truncate(4);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
