// A switch and router with a table of each kind, counters and registers, for the tests of boards.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header ipv4_t {
    bit<8>  version_ihl;
    bit<8>  tos;
    bit<16> total_len;
    bit<32> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {}

parser BoardParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control VerifyHeader(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control BoardIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(16, CounterType.packets_and_bytes) by_ttl;
    register<bit<32>>(16) by_port;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action to_port(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action next_hop(bit<9> port, bit<48> src, bit<48> dst) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    table macs {
        key = { hdr.ethernet.dst: exact; }
        actions = { to_port; drop; }
        default_action = drop();
        size = 64;
    }

    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { next_hop; drop; }
        default_action = drop();
        size = 128;
    }

    table acl {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.protocol: ternary;
        }
        actions = { NoAction; drop; }
        default_action = NoAction();
        size = 128;
    }

    apply {
        bit<32> packets;
        by_port.read(packets, (bit<32>) standard_metadata.ingress_port);
        by_port.write((bit<32>) standard_metadata.ingress_port, packets + 1);
        if (hdr.ipv4.isValid()) {
            by_ttl.count((bit<32>) hdr.ipv4.ttl);
            routes.apply();
            acl.apply();
        } else {
            macs.apply();
        }
    }
}

control BoardEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control UpdateHeader(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control BoardDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(BoardParser(), VerifyHeader(), BoardIngress(), BoardEgress(), UpdateHeader(), BoardDeparser()) main;
