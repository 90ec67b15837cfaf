// isValid() as a key; the fields of an invalid header as keys do no harm.

#include <core.p4>
#include <v1model.p4>

header first_t {
    bit<8> kind;
}

header second_t {
    bit<8> x;
}

header result_t {
    bit<8> value;
}

struct headers_t {
    result_t result;
    first_t  first;
    second_t second;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.first);
        transition select(hdr.first.kind) {
            2: second;
            default: accept;
        }
    }

    state second {
        packet.extract(hdr.second);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set(bit<8> value) {
        hdr.result.value = value;
    }

    table t {
        key = {
            hdr.second.isValid() : exact;
            hdr.second.x : ternary;
        }
        actions = { set; }
        default_action = set(0xff);
    }

    apply {
        std.egress_spec = std.ingress_port;
        hdr.result.setValid();
        t.apply();
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
