// Section 7.2.3: a stack of ten labels, which starts with no valid element.

#include <core.p4>
#include <v1model.p4>

header mpls_t {
    bit<20> label;
    bit<3>  class;
    bit     bottom;
    bit<8>  ttl;
}

struct headers_t {
    mpls_t[10] mpls;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(hdr.mpls[0].isValid(), hdr.mpls[9].isValid()) {
            (false, false): label;
            default: reject;
        }
    }

    state label {
        packet.extract(hdr.mpls.next);
        hdr.mpls[hdr.mpls.lastIndex].ttl = hdr.mpls.last.ttl - 1;
        transition select(hdr.mpls.last.bottom) {
            0: label;
            1: accept;
        }
    }
}

#include "frame/parsed.p4"
