// A copy made in egress passes egress from the start and may be copied again there; metadata is new, headers are
// as they were.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> left;
    bit<8> passes;
    bit<8> meta;
    bit<8> kind;
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
        std.egress_spec = 2;
        meta.m = 0x40;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.passes = hdr.data.passes + 1;
        hdr.data.meta = meta.m;
        meta.m = meta.m + 1;
        hdr.data.kind = (bit<8>) std.instance_type;
        if (hdr.data.left != 0) {
            hdr.data.left = hdr.data.left - 1;
            clone(CloneType.E2E, 4);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
