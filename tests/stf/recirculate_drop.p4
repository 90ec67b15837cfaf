// A drop in egress prevents recirculation; truncation and a checksum come before it; dropping in the second
// ingress ends it.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> rounds;
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
        if (std.instance_type == 4 && hdr.data.what == 2) {
            mark_to_drop(std);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.rounds = hdr.data.rounds + 1;
        if (std.instance_type == 0 && hdr.data.what != 0) {
            if (hdr.data.what == 3) {
                truncate(3);
            }
            recirculate_preserving_field_list(0);
            if (hdr.data.what == 1) {
                mark_to_drop(std);
            }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
