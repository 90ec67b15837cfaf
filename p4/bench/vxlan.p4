// A VXLAN tunnel end (RFC 7348): frames of hosts leave wrapped by port 0, what arrives there is unwrapped.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

const port_t UPLINK = 0;
const bit<16> UDP_VXLAN = 4789;

header vxlan_t {
    bit<8>  flags;
    bit<24> reserved;
    bit<24> network;
    bit<8>  reserved2;
}

struct headers_t {
    ethernet_t outer;
    ipv4_t     ipv4;
    udp_t      udp;
    vxlan_t    vxlan;
    ethernet_t inner;
}

struct meta_t {}

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(std.ingress_port) {
            UPLINK: tunnel;
            default: host;
        }
    }
    state tunnel {
        packet.extract(hdr.outer);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.udp);
        transition select(hdr.outer.type, hdr.ipv4.ihl, hdr.ipv4.protocol, hdr.udp.dst) {
            (TYPE_IPV4, 5, PROTOCOL_UDP, UDP_VXLAN): vxlan;
            default: accept;
        }
    }
    state vxlan {
        packet.extract(hdr.vxlan);
        transition host;
    }
    state host {
        packet.extract(hdr.inner);
        transition accept;
    }
}

#define OWN_CHECKSUMS

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_CHECKED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_CHECKED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }
    action wrap(bit<24> network, bit<32> remote, mac_t gateway) {
        hdr.outer = { gateway, 0x0200000000fe, TYPE_IPV4 };
        hdr.ipv4 = { 4, 5, 0, (bit<16>) std.packet_length + 36, 0, 2, 0, 64, PROTOCOL_UDP, 0, 0xc0000201, remote };
        // The source port tells flows apart to who spreads them.
        bit<16> flow;
        hash(flow, HashAlgorithm.crc16, 16w0, { hdr.inner.src, hdr.inner.dst }, 16w0x3fff);
        hdr.udp = { 0xc000 | flow, UDP_VXLAN, (bit<16>) std.packet_length + 16, 0 };
        hdr.vxlan = { 8, 0, network, 0 };
        std.egress_spec = UPLINK;
    }
    action unwrap(port_t port) {
        hdr.outer.setInvalid();
        hdr.ipv4.setInvalid();
        hdr.udp.setInvalid();
        hdr.vxlan.setInvalid();
        std.egress_spec = port;
    }
    table hosts {
        key = {
            std.ingress_port: exact;
            hdr.inner.dst: exact;
        }
        actions = { wrap; drop; }
        default_action = drop();
        size = 1048576;
    }
    table networks {
        key = {
            hdr.vxlan.network: exact;
            hdr.inner.dst: exact;
        }
        actions = { unwrap; drop; }
        default_action = drop();
        size = 1048576;
    }
    apply {
        if (std.parser_error != error.NoError || std.checksum_error == 1) {
            drop();
        } else if (hdr.vxlan.isValid()) {
            networks.apply();
        } else if (hdr.inner.isValid()) {
            hosts.apply();
        } else {
            drop();
        }
    }
}

#include "tail.p4"
