// The calls that newer v1model names otherwise: resubmit, recirculate and clone3 with nothing to keep,
// mark_to_drop without argument.

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
        if (std.instance_type == 0) {
            if (hdr.data.what == 1) {
                resubmit<tuple<>>({});
            } else if (hdr.data.what == 2) {
                clone3<tuple<>>(CloneType.I2E, 1, {});
            }
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.kind = hdr.data.kind + (bit<8>) std.instance_type + 0x10;
        if (std.instance_type == 0 && hdr.data.what == 3) {
            recirculate<tuple<>>({});
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
