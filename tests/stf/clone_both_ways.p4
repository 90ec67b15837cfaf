// A packet copied at the end of ingress and again in egress: three leave; only the original runs ingress.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> ingress;
    bit<8> egress;
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
        hdr.data.ingress = hdr.data.ingress + 1;
        clone(CloneType.I2E, 1);
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.egress = hdr.data.egress + 1;
        hdr.data.kind = (bit<8>) std.instance_type;
        if (std.instance_type == 0) {
            clone(CloneType.E2E, 2);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
