// Answers ARP requests for addresses of a table; other requests are flooded by multicast but not to where they
// came from.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header arp_t {
    bit<16> hardware;
    bit<16> protocol;
    bit<8>  hardware_length;
    bit<8>  protocol_length;
    bit<16> operation;
    bit<48> sender_mac;
    bit<32> sender_ip;
    bit<48> target_mac;
    bit<32> target_ip;
}

struct headers_t {
    ethernet_t ethernet;
    arp_t      arp;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0806: arp;
            default: accept;
        }
    }

    state arp {
        packet.extract(hdr.arp);
        transition select(hdr.arp.hardware, hdr.arp.protocol, hdr.arp.hardware_length, hdr.arp.protocol_length) {
            (1, 0x0800, 6, 4): accept;
            default: reject;
        }
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action answer(bit<48> mac) {
        hdr.ethernet.dst = hdr.arp.sender_mac;
        hdr.ethernet.src = mac;
        hdr.arp.operation = 2;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        bit<32> asked = hdr.arp.target_ip;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_mac = mac;
        hdr.arp.sender_ip = asked;
        std.egress_spec = std.ingress_port;
    }
    action flood() {
        std.mcast_grp = 1;
    }
    table addresses {
        key = {
            hdr.arp.target_ip : exact;
            hdr.arp.operation : exact;
        }
        actions = { answer; flood; }
        default_action = flood();
    }

    apply {
        if (hdr.arp.isValid()) {
            addresses.apply();
        } else {
            mark_to_drop(std);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 5 && std.egress_port == std.ingress_port) {
            mark_to_drop(std);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
