// Section 13.5: a transition to a state, to `accept`, and by a select; a state without a transition rejects.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> trace;
}

header next_t {
    bit<8> x;
}

struct headers_t {
    data_t data;
    next_t next;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.x) {
            0: accept;
            1: named;
            default: without;
        }
    }

    state named {
        packet.extract(hdr.next);
        hdr.data.trace = 1;
        transition accept;
    }

    state without {             //~ W0029
        hdr.data.trace = 2;
    }
}

#include "frame/parsed.p4"
