// MPLS: a label stack is pushed at the edge, swapped in the middle and popped before the end; TTLs go along.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header mpls_t {
    bit<20> label;
    bit<3>  class;
    bit<1>  bottom;
    bit<8>  ttl;
}

header ipv4_t {
    bit<64> first;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    mpls_t[3]  mpls;
    ipv4_t     ipv4;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x8847: label;
            0x0800: ipv4;
            default: accept;
        }
    }
    state label {
        packet.extract(hdr.mpls.next);
        transition select(hdr.mpls.last.bottom) {
            1: ipv4;
            default: label;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action push_two(bit<20> outer, bit<20> inner, bit<9> port) {
        hdr.mpls.push_front(2);
        hdr.mpls[0] = { outer, 0, 0, hdr.ipv4.ttl };
        hdr.mpls[1] = { inner, 0, 1, hdr.ipv4.ttl };
        hdr.ethernet.type = 0x8847;
        std.egress_spec = port;
    }
    action swap(bit<20> label, bit<9> port) {
        hdr.mpls[0].label = label;
        hdr.mpls[0].ttl = hdr.mpls[0].ttl - 1;
        std.egress_spec = port;
    }
    action pop(bit<9> port) {
        bit<8> ttl = hdr.mpls[0].ttl - 1;
        hdr.mpls.pop_front(1);
        if (hdr.mpls[0].isValid()) {
            hdr.mpls[0].ttl = ttl;
        } else {
            hdr.ipv4.ttl = ttl;
            hdr.ethernet.type = 0x0800;
        }
        std.egress_spec = port;
    }
    action drop() {
        mark_to_drop(std);
    }
    table edge {
        key = { hdr.ipv4.dst: lpm; }
        actions = { push_two; drop; }
        const default_action = drop();
    }
    table labels {
        key = { hdr.mpls[0].label: exact; }
        actions = { swap; pop; drop; }
        const default_action = drop();
    }
    apply {
        if (std.parser_error != error.NoError) {
            drop();
        } else if (hdr.mpls[0].isValid()) {
            labels.apply();
        } else {
            edge.apply();
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
