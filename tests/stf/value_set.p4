// A parser value set matches what the control plane put into it: nothing at first.

#include <core.p4>
#include <v1model.p4>

header key_t {
    bit<16> kind;
}

header result_t {
    bit<8> state;
}

struct headers_t {
    result_t result;
    key_t    key;
}

struct meta_t {
    bit<8> state;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(4) special;

    state start {
        packet.extract(hdr.key);
        transition select(hdr.key.kind) {
            special: in_set;
            0x0800: known;
            default: accept;
        }
    }

    state in_set {
        meta.state = 1;
        transition accept;
    }

    state known {
        meta.state = 2;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result = { meta.state };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
