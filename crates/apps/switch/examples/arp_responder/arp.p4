// Answers ARP requests (RFC 826) for the addresses in a table.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header arp_t {
    bit<16> hardware_type;
    bit<16> protocol_type;
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

struct metadata_t {}

parser ArpParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0806: arp;
            default: accept;
        }
    }
    state arp {
        packet.extract(hdr.arp);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Answer(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(1, CounterType.packets) answers;

    action answer(bit<48> mac) {
        bit<32> ip = hdr.arp.target_ip;
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = mac;
        hdr.arp.operation = 2;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_mac = mac;
        hdr.arp.sender_ip = ip;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
        answers.count(0);
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table hosts {
        key = { hdr.arp.target_ip : exact; }
        actions = { answer; drop; }
        default_action = drop();
        size = 4096;
    }

    apply {
        if (hdr.arp.isValid() && hdr.arp.operation == 1) {
            hosts.apply();
        } else {
            drop();
        }
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control ArpDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
    }
}

V1Switch(ArpParser(), NoChecksums(), Answer(), NoEgress(), NoChecksums(), ArpDeparser()) main;
