// Section 13.10: the `reject` of a called parser is that of the caller, with its error; nothing of the caller follows.

#include <core.p4>
#include <v1model.p4>

header kind_t {
    bit<8> trace;
}

header item_t {
    bit<8> x;
}

struct headers_t {
    kind_t kind;
    item_t rest;
}

struct meta_t { }

error { Expired }

parser Callee(packet_in packet) {
    state start {
        bit<8> x = packet.lookahead<bit<8>>();
        verify(x != 0, error.Expired);
        transition select(x) {
            0xff: reject;
            default: accept;
        }
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Callee() callee;

    state start {
        packet.extract(hdr.kind);
        hdr.kind.trace = 1;
        callee.apply(packet);
        hdr.kind.trace = 2;
        packet.extract(hdr.rest);
        hdr.rest.x = hdr.rest.x + 1;
        transition accept;
    }
}

#include "frame/parsed.p4"
