// Copies of packets that have grown: clones that grow again in egress, replicas that grow differently, resubmitted packets.

#include <core.p4>
#include <v1model.p4>

header data_t { bit<8> op; }
header long_t { bit<1200> x; }

struct headers_t {
    data_t data;
    long_t ingress;
    long_t egress;
    long_t copy;
}

struct meta_t {
    @field_list(0)
    bit<8> again;
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
        if (hdr.data.op == 4 && meta.again == 0) {
            meta.again = 1;
            resubmit_preserving_field_list(0);
        }
        if (hdr.data.op == 1) {
            clone_preserving_field_list(CloneType.I2E, 5, 0);
        } else if (hdr.data.op == 3) {
            std.mcast_grp = 1;
        }
        hdr.ingress.setValid();
        hdr.ingress.x = 1;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 0 && hdr.data.op == 2) {
            hdr.egress.setValid();
            hdr.egress.x = 2;
            clone_preserving_field_list(CloneType.E2E, 6, 0);
        } else if (std.instance_type != 0 && std.egress_rid != 7) {
            hdr.copy.setValid();
            hdr.copy.x = 3;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
