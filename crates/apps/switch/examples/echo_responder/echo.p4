// Gives the CPU what asks an address in a table for an echo (RFC 792), and answers ARP requests (RFC 826) for that address.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header arp_t {
    bit<64> what;
    bit<48> sender_mac;
    bit<32> sender_ip;
    bit<48> target_mac;
    bit<32> target_ip;
}

header ipv4_t {
    bit<8>  version_and_length;
    bit<8>  traffic_class;
    bit<16> length;
    bit<16> identification;
    bit<3>  flags;
    bit<13> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header icmp_t {
    bit<8> type;
    bit<8> code;
}

struct headers_t {
    ethernet_t ethernet;
    arp_t      arp;
    ipv4_t     ipv4;
    icmp_t     icmp;
}

struct metadata_t {}

parser EchoParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0806: arp;
            0x0800: ipv4;
            default: accept;
        }
    }
    state arp {
        packet.extract(hdr.arp);
        transition accept;
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version_and_length, hdr.ipv4.flags & 1, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (0x45, 0, 0, 1): icmp;
            default: accept;
        }
    }
    state icmp {
        packet.extract(hdr.icmp);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Own(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(1, CounterType.packets) requests;

    action answer(bit<48> mac) {
        bit<32> ip = hdr.arp.target_ip;
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = mac;
        hdr.arp.what[15:0] = 2;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_mac = mac;
        hdr.arp.sender_ip = ip;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    action punt() {
        requests.count(0);
        standard_metadata.egress_spec = 510;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table resolved {
        key = { hdr.arp.target_ip : exact; }
        actions = { answer; drop; }
        default_action = drop();
    }

    table asked {
        key = { hdr.ipv4.dst : exact; }
        actions = { punt; drop; }
        default_action = drop();
    }

    apply {
        if (hdr.arp.isValid() && hdr.arp.what == 0x0001_0800_0604_0001) {
            resolved.apply();
        } else if (hdr.icmp.isValid() && hdr.icmp.type == 8 && hdr.icmp.code == 0) {
            asked.apply();
        } else {
            drop();
        }
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control EchoDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.icmp);
    }
}

V1Switch(EchoParser(), NoChecksums(), Own(), NoEgress(), NoChecksums(), EchoDeparser()) main;
