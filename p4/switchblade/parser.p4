// Known headers as such; of other protocols the first 64 bytes, as words. A packet that ends in the IP header or VLAN tag that its
// EtherType announces is left with meta.truncated set.

parser PlatformParser(packet_in packet,
                      out headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t std) {
    state start {
        transition select(std.ingress_port) {
            CPU_PORT: from_control_plane;
            default: ethernet;
        }
    }

    state from_control_plane {
        packet.extract(hdr.packet_out);
        transition select(hdr.packet_out.port) {
            PROCESS: ethernet;
            default: accept;
        }
    }

    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            ETHERTYPE_VLAN: vlan;
            default: words;
        }
    }

    state vlan {
        meta.truncated = 1;
        packet.extract(hdr.vlan);
        meta.truncated = 0;
        transition select(hdr.vlan.ether_type) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: words;
        }
    }

    state ipv4 {
        meta.truncated = 1;
        packet.extract(hdr.ipv4);
        meta.truncated = 0;
        transition select(hdr.ipv4.ihl, hdr.ipv4.offset, hdr.ipv4.protocol) {
            (5, 0, PROTO_TCP): ports;
            (5, 0, PROTO_UDP): ports;
            (5, 0, PROTO_ICMP): icmp;
            (5, 0, PROTO_SPLICING): splicing;
            (5, 0, _): words;
            default: accept;
        }
    }

    state ipv6 {
        meta.truncated = 1;
        packet.extract(hdr.ipv6);
        meta.truncated = 0;
        transition select(hdr.ipv6.next_hdr) {
            PROTO_TCP: ports;
            PROTO_UDP: ports;
            PROTO_ICMPV6: icmp;
            default: words;
        }
    }

    state ports    { packet.extract(hdr.ports);    transition accept; }
    state icmp     { packet.extract(hdr.icmp);     transition accept; }
    state splicing { packet.extract(hdr.splicing); transition accept; }

    // A packet that ends here has fewer words. That is no error.
    state words {
        packet.extract(hdr.words[0]);
        packet.extract(hdr.words[1]);
        packet.extract(hdr.words[2]);
        packet.extract(hdr.words[3]);
        packet.extract(hdr.words[4]);
        packet.extract(hdr.words[5]);
        packet.extract(hdr.words[6]);
        packet.extract(hdr.words[7]);
        transition accept;
    }
}

control PlatformDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}
