// From the frame to EFCP, or to IPv4 and the ports of its transport protocol.

error {
    PduLength                // length field of a PDU that is shorter than its header
}

// Which link a packet comes by.
struct link_t {
    bit<9>  port;
    bit<12> vlan;            // 0: none
}

#define LINKS 4096

bit<16> from_little_endian(in bit<16> number) {
    return number[7:0] ++ number[15:8];
}

parser InteriorParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
#ifndef NO_IRATI
    // Links whose PDUs have IRATI's syntax, or rlite's; those of all others have that of efcp_t. Of these links, those with rlite's, and of
    // IRATI's those whose PDUs have a TTL, and those whose PDUs have a CRC.
    value_set<link_t>(LINKS) irati_links;
    value_set<link_t>(LINKS) rlite_links;
    value_set<link_t>(LINKS) ttl_links;
    value_set<link_t>(LINKS) crc_links;
#endif

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
            TYPE_VLAN: vlan;
            TYPE_RINA: rina;
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state vlan {
        packet.extract(hdr.vlan);
        meta.vlan = hdr.vlan.id;
        transition select(hdr.vlan.type) {
            TYPE_RINA: rina;
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state rina {
        transition select(std.ingress_port, meta.vlan) {
#ifndef NO_IRATI
            irati_links: irati;
#endif
            default: efcp;
        }
    }

    state efcp {
        packet.extract(hdr.efcp);
        transition accept;
    }

#ifndef NO_IRATI
    state rlite {
        packet.extract(hdr.rlite);
        transition accept;
    }

    state irati {
        transition select(std.ingress_port, meta.vlan) {
            rlite_links: rlite;
            ttl_links: ttl;
            default: irati_pci;
        }
    }

    state ttl {
        packet.extract(hdr.ttl);
        transition irati_pci;
    }

    state irati_pci {
        packet.extract(hdr.irati);
        transition select(std.ingress_port, meta.vlan) {
            crc_links: sdu;
            default: accept;
        }
    }

    // The CRC is where the length says; behind it may be padding.
    state sdu {
        bit<16> length = from_little_endian(hdr.irati.length);
        verify(length >= IRATI_BYTES, error.PduLength);
        packet.extract(hdr.sdu, (bit<32>) (length - IRATI_BYTES) * 8);
        packet.extract(hdr.crc);
        transition accept;
    }
#endif

    // Fragments have no ports: all of a packet's must take the same path.
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.offset, hdr.ipv4.protocol) {
            (5, 0, 0, PROTOCOL_TCP): ports;
            (5, 0, 0, PROTOCOL_UDP): ports;
            (5, 0, 0, PROTOCOL_SCTP): ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}
