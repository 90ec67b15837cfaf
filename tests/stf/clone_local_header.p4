// Egress runs again for its clone: a header that is a local variable is invalid then, as at first.

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

control Noting(in bit<8> x, inout data_t data) {
    note_t inner;
    apply {
        data.valid = data.valid + (inner.isValid() ? 8w2 : 0);
        inner = { x };
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    note_t note;
    Noting() noting;
    apply {
        hdr.data.valid = note.isValid() ? 8w1 : 0;
        noting.apply(hdr.data.list, hdr.data);
        if (std.instance_type == 0) {
            note = { 0x55 };
            clone(CloneType.E2E, 1);
        } else {
            hdr.data.copy = 1;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
