// resubmit parses the original packet anew, recirculate the deparsed one; both keep only the listed metadata.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> ingress_runs;
    bit<8> egress_runs;
    bit<8> instance_type;
    bit<8> kept;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    @field_list(1, 2)
    bit<8> runs;
    @field_list(2)
    bit<8> second;
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
        hdr.data.ingress_runs = hdr.data.ingress_runs + 1;
        hdr.data.instance_type = (bit<8>)std.instance_type;
        hdr.data.kept = (meta.runs << 4) + meta.second + meta.lost;
        meta.lost = 8;
        meta.second = 1;
        if (hdr.data.what == 1 && std.instance_type == 0) {
            meta.runs = 2;
            resubmit_preserving_field_list(1);
        } else if (hdr.data.what == 2 && meta.runs < 3) {
            meta.runs = meta.runs + 1;
            resubmit_preserving_field_list(2);
        } else if (hdr.data.what == 3 && std.instance_type == 0) {
            mark_to_drop(std);
            resubmit_preserving_field_list(1);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.egress_runs = hdr.data.egress_runs + 1;
        if (hdr.data.what == 4 && std.instance_type == 0) {
            meta.runs = 5;
            recirculate_preserving_field_list(2);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
