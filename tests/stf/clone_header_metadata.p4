// A clone of egress keeps metadata that are in the field list, headers among them, and no others.

#include <core.p4>
#include <v1model.p4>

header note_t {
    bit<8> x;
}

header data_t {
    bit<8> list;
    bit<8> copy;
    bit<8> valid;
    bit<8> x;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    note_t lost;
    @field_list(1)
    note_t kept;
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
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 0) {
            meta.lost = { 0x55 };
            meta.kept = { 0x66 };
            if (hdr.data.list == 0) {
                clone(CloneType.E2E, 1);
            } else {
                clone_preserving_field_list(CloneType.E2E, 1, 1);
            }
        } else {
            hdr.data.copy = 1;
            hdr.data.valid = (meta.lost.isValid() ? 8w1 : 0) + (meta.kept.isValid() ? 8w2 : 0);
            hdr.data.x = meta.kept.isValid() ? meta.kept.x : 0;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
