// Sets of a select whose values the packet has: a value, a mask that hides bits of the key, both ends of a range, two in a tuple.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> kind;
    bit<8> key;
    bit<8> a;
    bit<8> b;
    bit<8> found;
}

struct headers_t {
    data_t data;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.kind) {
            0: by_value;
            1: by_mask;
            2: by_range;
            default: by_tuple;
        }
    }
    state by_value {
        transition select(hdr.data.key) {
            hdr.data.a: first;
            hdr.data.b: second;
            default: neither;
        }
    }
    state by_mask {
        transition select(hdr.data.key) {
            hdr.data.a &&& 0x0f: first;
            0x50 &&& hdr.data.b: second;
            default: neither;
        }
    }
    state by_range {
        transition select(hdr.data.key) {
            hdr.data.a .. hdr.data.b: first;
            default: neither;
        }
    }
    state by_tuple {
        transition select(hdr.data.key, hdr.data.found) {
            (hdr.data.a &&& hdr.data.b, 0 .. hdr.data.b): first;
            (_, hdr.data.a): second;
            default: neither;
        }
    }
    state first {
        hdr.data.found = 1;
        transition accept;
    }
    state second {
        hdr.data.found = 2;
        transition accept;
    }
    state neither {
        hdr.data.found = 0;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

#include "frame/pipeline.p4"
