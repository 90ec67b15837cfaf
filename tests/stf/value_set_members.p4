// Members of a value set that the control plane writes: exact values, masks, prefixes, ranges; sets over several keys; a set
// whose members change and go.

#include <core.p4>
#include <v1model.p4>

header key_t {
    bit<16> kind;
    bit<4>  high;
    bit<4>  low;
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

struct pair_t {
    @match(exact)
    bit<16> kind;
    @match(range)
    bit<4>  high;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<pair_t>(4) pairs;
    value_set<bit<16>>(4) kinds;

    state start {
        packet.extract(hdr.key);
        transition select(hdr.key.kind, hdr.key.high) {
            (0x0001, _): direct;
            pairs: in_pairs;
            default: other;
        }
    }

    state direct {
        meta.state = 1;
        transition accept;
    }

    state in_pairs {
        meta.state = 2;
        transition accept;
    }

    state other {
        transition select(hdr.key.kind) {
            kinds: in_kinds;
            default: accept;
        }
    }

    state in_kinds {
        meta.state = 3;
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
