// recirculate brings the packet as the deparser made it: a header added each round makes it longer, and so
// packet_length.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> rounds;
    bit<8> kind;
}

header tag_t {
    bit<8> length;
    bit<8> kept;
}

struct headers_t {
    data_t   data;
    tag_t[4] tags;
}

struct meta_t {
    @field_list(1)
    bit<8> kept;
    bit<8> lost;
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
        if (hdr.data.rounds != 0) {
            hdr.tags.push_front(1);
            hdr.tags[0].setValid();
            hdr.tags[0].length = (bit<8>) std.packet_length;
            hdr.tags[0].kept = meta.kept + meta.lost;
        }
        hdr.data.kind = (bit<8>) std.instance_type;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.data.rounds != 0) {
            hdr.data.rounds = hdr.data.rounds - 1;
            meta.kept = meta.kept + 1;
            meta.lost = 0x80;
            recirculate_preserving_field_list(1);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
