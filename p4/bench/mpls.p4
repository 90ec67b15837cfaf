// A label-switching router (RFC 3031, 3032): labels are pushed at the edge, swapped on the way and popped.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

header mpls_t {
    bit<20> label;
    bit<3>  class;
    bit<1>  bottom;
    bit<8>  ttl;
}

struct headers_t {
    ethernet_t ethernet;
    mpls_t[3]  mpls;
    ipv4_t     ipv4;
}

struct meta_t {}

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_MPLS: label;
            TYPE_IPV4: ipv4;
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

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }
    action push(bit<20> outer, bit<20> inner, port_t port, mac_t dst) {
        hdr.mpls.push_front(2);
        hdr.mpls[0] = { outer, 0, 0, hdr.ipv4.ttl };
        hdr.mpls[1] = { inner, 0, 1, hdr.ipv4.ttl };
        hdr.ethernet.type = TYPE_MPLS;
        hdr.ethernet.dst = dst;
        std.egress_spec = port;
    }
    action swap(bit<20> label, port_t port, mac_t dst) {
        hdr.mpls[0].label = label;
        hdr.mpls[0].ttl = hdr.mpls[0].ttl - 1;
        hdr.ethernet.dst = dst;
        std.egress_spec = port;
    }
    action pop(port_t port, mac_t dst) {
        bit<8> ttl = hdr.mpls[0].ttl - 1;
        hdr.mpls.pop_front(1);
        if (hdr.mpls[0].isValid()) {
            hdr.mpls[0].ttl = ttl;
        } else {
            hdr.ethernet.type = TYPE_IPV4;
        }
        hdr.ethernet.dst = dst;
        std.egress_spec = port;
    }
    table edge {
        key = { hdr.ipv4.dst: lpm; }
        actions = { push; drop; }
        default_action = drop();
        size = 1048576;
    }
    table labels {
        key = { hdr.mpls[0].label: exact; }
        actions = { swap; pop; drop; }
        default_action = drop();
        size = 1048576;
    }
    apply {
        if (std.parser_error != error.NoError) {
            drop();
        } else if (hdr.mpls[0].isValid()) {
            if (hdr.mpls[0].ttl > 1) {
                labels.apply();
            } else {
                drop();
            }
        } else if (hdr.ipv4.isValid()) {
            edge.apply();
        } else {
            drop();
        }
    }
}

#include "tail.p4"
