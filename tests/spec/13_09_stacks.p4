// Section 13.9: a stack of labels: `next` moves with each extraction, `last` is the one before; one label too many, and a `last`
// of nothing, are errors.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<16> kind;
}

header mpls_t {
    bit<20> label;
    bit<3>  class;
    bit     bottom;
    bit<8>  ttl;
}

header ipv4_t {
    bit<8> x;
}

struct headers_t {
    ethernet_t ethernet;
    mpls_t[3]  mpls;
    ipv4_t     ipv4;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            0x8847: mpls;
            0x0800: ipv4;
            0xffff: none;
            default: accept;
        }
    }

    state mpls {
        packet.extract(hdr.mpls.next);
        transition select(hdr.mpls.last.bottom) {
            0: mpls;
            1: ipv4;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        hdr.ipv4.x = hdr.ipv4.x + 1;
        transition accept;
    }

    state none {
        transition select(hdr.mpls.last.bottom) {
            default: ipv4;
        }
    }
}

#include "frame/parsed.p4"
