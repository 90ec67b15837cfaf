// From the frame to one or two EFCP headers: by Ethernet, in a VLAN, or by UDP over IPv4.

// Which link and connection endpoint an (N-1) flow ends at.
struct flow_end_t {
    bit<9>  port;
    bit<12> vlan;
    bit<16> dst;
    bit<16> dst_cep;
}

// An address and port of the router that shims over UDP have.
struct shim_t {
    bit<32> dst;
    bit<16> port;
}

parser BorderParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<flow_end_t>(4096) flow_ends;
    value_set<shim_t>(256) shims;

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
        meta.efcp_bytes = std.packet_length - ETHERNET_BYTES;
        transition select(hdr.ethernet.type) {
            TYPE_VLAN: vlan;
            TYPE_RINA: efcp;
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state vlan {
        packet.extract(hdr.vlan);
        meta.vlan = hdr.vlan.id;
        meta.efcp_bytes = meta.efcp_bytes - VLAN_BYTES;
        transition select(hdr.vlan.type) {
            TYPE_RINA: efcp;
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.offset, hdr.ipv4.protocol) {
            (5, 0, 0, PROTOCOL_UDP): udp;
            default: accept;
        }
    }

    state udp {
        packet.extract(hdr.udp);
        meta.efcp_bytes = meta.efcp_bytes - IPV4_BYTES - UDP_BYTES;
        transition select(hdr.ipv4.dst, hdr.udp.dst) {
            shims: efcp;
            default: accept;
        }
    }

    state efcp {
        packet.extract(hdr.pdu);
        transition select(std.ingress_port, meta.vlan, hdr.pdu.dst, hdr.pdu.dst_cep) {
            flow_ends: flow_end;
            default: accept;
        }
    }

    state flow_end {
        transition select(hdr.pdu.type) {
            PDU_DATA: carried;
            default: accept;
        }
    }

    // The header extracted is that of the (N-1) DIF.
    state carried {
        hdr.outer = hdr.pdu;
        packet.extract(hdr.pdu);
        transition accept;
    }
}
