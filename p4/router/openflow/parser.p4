// Parser and deparser. A packet that ends within a header is matched by the headers before it.

parser OpenFlowParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(std.ingress_port, meta.passes) {
            (CPU, 0): from_controller;
            default: ethernet;
        }
    }

    state from_controller {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }

    state ethernet {
        packet.extract(hdr.ethernet);
        meta.eth_type = hdr.ethernet.type;
        transition select(hdr.ethernet.type) {
            TYPE_VLAN: vlan;
            TYPE_SVLAN: vlan;
            default: network;
        }
    }

    state vlan {
        packet.extract(hdr.vlan);
        meta.vlan = 1w1 ++ hdr.vlan.vid;
        meta.vlan_pcp = hdr.vlan.pcp;
        meta.eth_type = hdr.vlan.type;
        transition select(hdr.vlan.type) {
            TYPE_VLAN: inner;
            TYPE_SVLAN: inner;
            default: network;
        }
    }

    // A second tag is kept apart so that the first can be popped; flows match the first only.
    state inner {
        packet.extract(hdr.inner);
        transition accept;
    }

    state network {
        transition select(meta.eth_type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            TYPE_ARP: arp;
            default: accept;
        }
    }

    state arp {
        packet.extract(hdr.arp);
        meta.l4_src = hdr.arp.operation;
        meta.l3_src = (bit<128>) hdr.arp.sender_ip;
        meta.l3_dst = (bit<128>) hdr.arp.target_ip;
        meta.link_src = hdr.arp.sender_mac;
        meta.link_dst = hdr.arp.target_mac;
        transition accept;
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        meta.tos = hdr.ipv4.dscp ++ hdr.ipv4.ecn;
        meta.ip_proto = hdr.ipv4.protocol;
        meta.l3_src = (bit<128>) hdr.ipv4.src;
        meta.l3_dst = (bit<128>) hdr.ipv4.dst;
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.offset, hdr.ipv4.protocol) {
            (4, 5, 0, 1): icmp;
            (4, 5, 0, 6): tcp;
            (4, 5, 0, 17): udp;
            (4, 5, 0, 132): sctp;
            (4, 0 .. 5, _, _): accept;
            (4, _, 0, _): ipv4_options;
            default: accept;
        }
    }

    state ipv4_options {
        packet.extract(hdr.ipv4_options, (bit<32>) (hdr.ipv4.ihl - 5) * 32);
        transition select(hdr.ipv4.protocol) {
            1: icmp;
            6: tcp;
            17: udp;
            132: sctp;
            default: accept;
        }
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        meta.tos = hdr.ipv6.traffic_class;
        meta.ip_proto = hdr.ipv6.next_header;
        meta.flow_label = hdr.ipv6.flow_label;
        meta.l3_src = hdr.ipv6.src;
        meta.l3_dst = hdr.ipv6.dst;
        transition select(hdr.ipv6.next_header) {
            6: tcp;
            17: udp;
            58: icmpv6;
            132: sctp;
            default: accept;
        }
    }

    state tcp {
        packet.extract(hdr.tcp);
        meta.l4_src = hdr.tcp.src;
        meta.l4_dst = hdr.tcp.dst;
        transition accept;
    }

    state udp {
        packet.extract(hdr.udp);
        meta.l4_src = hdr.udp.src;
        meta.l4_dst = hdr.udp.dst;
        transition accept;
    }

    state sctp {
        packet.extract(hdr.sctp);
        meta.l4_src = hdr.sctp.src;
        meta.l4_dst = hdr.sctp.dst;
        transition accept;
    }

    state icmp {
        packet.extract(hdr.icmp);
        meta.l4_src = (bit<16>) hdr.icmp.type;
        meta.l4_dst = (bit<16>) hdr.icmp.code;
        transition accept;
    }

    state icmpv6 {
        packet.extract(hdr.icmp);
        meta.l4_src = (bit<16>) hdr.icmp.type;
        meta.l4_dst = (bit<16>) hdr.icmp.code;
        transition select(hdr.icmp.type) {
            135: neighbour;
            136: neighbour;
            default: accept;
        }
    }

    state neighbour {
        packet.extract(hdr.neighbour);
        meta.nd_target = hdr.neighbour.target;
        transition select(packet.lookahead<bit<16>>()) {
            0x0101: source_address;
            0x0201: target_address;
            default: accept;
        }
    }

    state source_address {
        packet.extract(hdr.neighbour_option);
        meta.link_src = hdr.neighbour_option.address;
        transition accept;
    }

    state target_address {
        packet.extract(hdr.neighbour_option);
        meta.link_dst = hdr.neighbour_option.address;
        transition accept;
    }
}

control OpenFlowDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}
