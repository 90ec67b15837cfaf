// Copies live though the original is dropped, in ingress and in egress; a copy may be dropped in egress.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> kind;
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
        if (hdr.data.what[0:0] == 1) {
            mark_to_drop(std);
        }
        clone(CloneType.I2E, 1);
        hdr.data.what = hdr.data.what | 0x80;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.kind = (bit<8>) std.instance_type;
        if (std.instance_type == 0 && hdr.data.what[1:1] == 1) {
            mark_to_drop(std);
        }
        if (std.instance_type == 1 && hdr.data.what[2:2] == 1) {
            mark_to_drop(std);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
