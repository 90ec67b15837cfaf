// Headers in the metadata go with a clone of egress if they are in its field list, and not if they are in another one or in none.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> how;
    bit<8> first;
    bit<8> second;
    bit<8> neither;
}

header note_t {
    bit<8> value;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    @field_list(1) note_t first;
    @field_list(2) note_t second;
    note_t neither;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        meta.first.setValid();
        meta.first.value = 1;
        meta.second.setValid();
        meta.second.value = 2;
        meta.neither.setValid();
        meta.neither.value = 3;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 0) {
            if (hdr.data.how == 1) {
                clone_preserving_field_list(CloneType.E2E, 5, 1);
            } else if (hdr.data.how == 2) {
                clone_preserving_field_list(CloneType.E2E, 5, 2);
            } else {
                clone(CloneType.E2E, 5);
            }
        } else {
            if (meta.first.isValid()) {
                hdr.data.first = meta.first.value;
            }
            if (meta.second.isValid()) {
                hdr.data.second = meta.second.value;
            }
            if (meta.neither.isValid()) {
                hdr.data.neither = meta.neither.value;
            }
        }
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
