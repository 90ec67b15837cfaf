// A packet that asks for a copy and to be resubmitted gets both; the copy is made once more in each round that
// asks.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> kind;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    @field_list(1)
    bit<8> round;
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
        if (std.instance_type == 0 || hdr.data.what == 2) {
            clone(CloneType.I2E, 1);
        }
        if (meta.round == 0) {
            meta.round = 1;
            resubmit_preserving_field_list(1);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.kind = (bit<8>) std.instance_type;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
