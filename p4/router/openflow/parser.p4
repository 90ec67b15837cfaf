// Parser and deparser. A packet that ends within a header is matched by the headers before it.

// Marks of an extension header of a kind that came before, and of one that should have come before those of `kinds` (RFC 8200,
// section 4.1).
#define REPEATED(kind) (meta.label & (kind) != 0 ? EXT_REPEATED : 0)
#define AFTER(kinds) (meta.label & (kinds) != 0 ? EXT_OUT_OF_ORDER : 0)

parser OpenFlowParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    bit<1> second_destination = 0;

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
            TYPE_MPLS: mpls;
            TYPE_MPLS_MULTICAST: mpls;
            TYPE_PBB: itag;
            0 .. 0x05ff: length;
            default: accept;
        }
    }

    // What has a length instead of a type and none behind SNAP either is of the type NO_ETHER_TYPE (OpenFlow 1.0, section 3.4).
    state length {
        meta.eth_type = NO_ETHER_TYPE;
        transition select(packet.lookahead<bit<48>>()) {
            0xaaaa03000000: snap;
            default: accept;
        }
    }

    state snap {
        packet.extract(hdr.snap);
        meta.eth_type = hdr.snap.type;
        transition select(hdr.snap.type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            TYPE_ARP: arp;
            default: accept;
        }
    }

    // The customer's frame is parsed once the tag is popped.
    state itag {
        packet.extract(hdr.itag);
        packet.extract(hdr.customer);
        meta.label = (bit<32>) hdr.itag.isid;
        transition accept;
    }

    // What is below the first entry is parsed as far as its time to live is.
    state mpls {
        packet.extract(hdr.mpls);
        meta.label = 8w0 ++ hdr.mpls.bos ++ hdr.mpls.tc ++ hdr.mpls.label;
        transition select(hdr.mpls.bos, packet.lookahead<bit<4>>()) {
            (0, _): mpls_below;
            (1, 4): ipv4_below;
            (1, 6): ipv6_below;
            default: accept;
        }
    }

    state mpls_below {
        packet.extract(hdr.mpls_below);
        transition accept;
    }

    state ipv4_below {
        packet.extract(hdr.ipv4_below);
        transition accept;
    }

    state ipv6_below {
        packet.extract(hdr.ipv6_below);
        transition accept;
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
        meta.label = 12w0 ++ hdr.ipv6.flow_label;
        meta.l3_src = hdr.ipv6.src;
        meta.l3_dst = hdr.ipv6.dst;
        transition ipv6_payload;
    }

    state ipv6_payload {
        transition select(meta.ip_proto) {
            6: tcp;
            17: udp;
            58: icmpv6;
            132: sctp;
            0: hop_by_hop;
            43: routing;
            44: fragment;
            50: esp;
            51: authentication;
            59: no_next_header;
            60: destination;
            default: accept;
        }
    }

    state hop_by_hop {
        meta.label = meta.label | EXT_HOP_BY_HOP | REPEATED(EXT_HOP_BY_HOP)
            | AFTER(EXT_DESTINATION | EXT_ROUTING | EXT_FRAGMENT | EXT_AUTHENTICATION);
        transition extension;
    }

    // Destination options may come twice: before a routing header and last.
    state destination {
        bool again = meta.label & EXT_DESTINATION != 0;
        meta.label = meta.label | EXT_DESTINATION | (again && second_destination == 1 ? EXT_REPEATED : 0);
        second_destination = again ? 1w1 : 0;
        transition extension;
    }

    state routing {
        meta.label = meta.label | EXT_ROUTING | REPEATED(EXT_ROUTING) | AFTER(EXT_FRAGMENT | EXT_AUTHENTICATION);
        transition extension;
    }

    // The length of options and routing headers is in units of eight bytes, without the first one.
    state extension {
        bit<16> front = packet.lookahead<bit<16>>();
        packet.extract(hdr.extensions.next, (bit<32>) front[7:0] * 64 + 48);
        meta.extension_bytes = meta.extension_bytes + (bit<16>) front[7:0] * 8 + 8;
        meta.ip_proto = front[15:8];
        transition ipv6_payload;
    }

    state fragment {
        meta.label = meta.label | EXT_FRAGMENT | REPEATED(EXT_FRAGMENT) | AFTER(EXT_AUTHENTICATION);
        bit<32> front = packet.lookahead<bit<32>>();
        packet.extract(hdr.extensions.next, 48);
        meta.extension_bytes = meta.extension_bytes + 8;
        meta.ip_proto = front[31:24];
        transition select(front[15:3]) {
            0: ipv6_payload;
            default: accept;
        }
    }

    // RFC 4302: units of four bytes, without the first two.
    state authentication {
        meta.label = meta.label | EXT_AUTHENTICATION | REPEATED(EXT_AUTHENTICATION);
        bit<16> front = packet.lookahead<bit<16>>();
        packet.extract(hdr.extensions.next, (bit<32>) front[7:0] * 32 + 48);
        meta.extension_bytes = meta.extension_bytes + (bit<16>) front[7:0] * 4 + 8;
        meta.ip_proto = front[15:8];
        transition ipv6_payload;
    }

    state esp {
        meta.label = meta.label | EXT_ESP;
        transition accept;
    }

    state no_next_header {
        meta.label = meta.label | EXT_NONE;
        transition accept;
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
