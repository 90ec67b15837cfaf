// Field lists of a clone: only the fields of the list named live on, whole structs too, with the values of the end
// of ingress.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> a;
    bit<8> b;
}

header data_t {
    bit<8> list;
    bit<8> x;
    bit<8> y;
    bit<8> z;
    bit<8> kind;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    @field_list(1, 3)
    bit<8> x;
    @field_list(2, 3)
    pair_t pair;
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
        meta.x = 0x01;
        meta.pair = { 0x02, 0x04 };
        meta.lost = 0x08;
        if (hdr.data.list == 1) {
            clone_preserving_field_list(CloneType.I2E, 7, 1);
        } else if (hdr.data.list == 2) {
            clone_preserving_field_list(CloneType.I2E, 7, 2);
        } else if (hdr.data.list == 3) {
            clone_preserving_field_list(CloneType.I2E, 7, 3);
        } else if (hdr.data.list == 4) {
            clone_preserving_field_list(CloneType.I2E, 7, 4);
        }
        meta.x = meta.x + 0x10;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.x = meta.x;
        hdr.data.y = meta.pair.a + (meta.pair.b << 4);
        hdr.data.z = meta.lost;
        hdr.data.kind = (bit<8>) std.instance_type;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
