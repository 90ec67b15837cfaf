// From the frame to the ports of the transport protocol. A header that the frame is too short for is not valid, and the
// packet is dropped or forwarded by the headers that are.

parser RouterParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(std.ingress_port) {
            CPU_PORT: from_agent;
            default: ethernet;
        }
    }

    state from_agent {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
#ifndef WITHOUT_IPV4
            TYPE_IPV4: ipv4;
#endif
#ifndef WITHOUT_IPV6
            TYPE_IPV6: ipv6;
#endif
            TYPE_VLAN: vlan;
            default: accept;
        }
    }

    // One tag. Frames with more are the control plane's.
    state vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.type) {
#ifndef WITHOUT_IPV4
            TYPE_IPV4: ipv4;
#endif
#ifndef WITHOUT_IPV6
            TYPE_IPV6: ipv6;
#endif
            default: accept;
        }
    }

#ifndef WITHOUT_IPV4
    // Fragments have no ports: all of a packet's must take the same path.
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.offset, hdr.ipv4.protocol) {
            (5, 0, 0, PROTOCOL_TCP): ports;
            (5, 0, 0, PROTOCOL_UDP): ports;
            (5, 0, 0, PROTOCOL_SCTP): ports;
#ifdef PATH_SPLICING
            (5, _, 0, PROTOCOL_SPLICING): splicing;
#endif
            default: accept;
        }
    }
#endif

#ifdef PATH_SPLICING
    state splicing {
        packet.extract(hdr.splicing);
        transition accept;
    }
#endif

#ifndef WITHOUT_IPV6
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_TCP: ports;
            PROTOCOL_UDP: ports;
            PROTOCOL_SCTP: ports;
            PROTOCOL_ICMPV6: icmp;
            default: accept;
        }
    }

    state icmp {
        packet.extract(hdr.icmp);
        transition accept;
    }
#endif

    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}
