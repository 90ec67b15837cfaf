// Packets that grow each time they are recirculated: by much in all, truncated on the way, and without an end. A packet that
// has become too long is dropped.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> rounds;           // 0xff: without an end
    bit<8> cut;              // to this length in each round, 0 for not
}

header tag_t { bit<80> x; }

struct headers_t {
    data_t data;
    tag_t  tag;
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
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.data.rounds != 0) {
            if (hdr.data.rounds != 0xff) {
                hdr.data.rounds = hdr.data.rounds - 1;
            }
            hdr.tag.setValid();
            hdr.tag.x = (bit<80>) hdr.data.rounds;
            if (hdr.data.cut != 0) {
                truncate((bit<32>) hdr.data.cut);
            }
            recirculate_preserving_field_list(0);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
