// resubmit brings the packet as it was received, whatever ingress did to it; metadata counts the rounds, and the
// last one decides.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> rounds;
    bit<8> seen;
    bit<8> kind;
    bit<8> lost;
    bit<32> length;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    @field_list(0)
    bit<8> round;
    bit<8> other;
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
        hdr.data.seen = hdr.data.seen + 1;
        hdr.data.kind = (bit<8>) std.instance_type;
        hdr.data.lost = meta.other;
        hdr.data.length = std.packet_length;
        std.egress_spec = 2 + (bit<9>) meta.round;
        meta.other = 0xff;
        if (meta.round < hdr.data.rounds) {
            meta.round = meta.round + 1;
            std.egress_spec = 8;
            resubmit_preserving_field_list(0);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.seen = hdr.data.seen + 0x10;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
