// A VXLAN tunnel end: what comes from a host is wrapped in Ethernet, IPv4, UDP and VXLAN; what comes by the tunnel is
// unwrapped. Headers that did not exist appear before all others.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> length;
    bit<16> id;
    bit<3>  flags;
    bit<13> offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

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

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(std.ingress_port) {
            9: tunnel;
            default: host;
        }
    }
    state tunnel {
        packet.extract(hdr.outer);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.udp);
        transition select(hdr.outer.type, hdr.ipv4.protocol, hdr.udp.dst_port) {
            (0x0800, 17, 4789): vxlan;
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

control NoVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}
control UpdateIpv4(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.offset,
              hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst }, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control Tunnel(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action wrap(bit<24> network, bit<32> remote) {
        hdr.outer = { 0x02000000000b, 0x02000000000c, 0x0800 };
        hdr.ipv4 = { 4, 5, 0, (bit<16>) std.packet_length + 50 - 14, 0, 2, 0, 64, 17, 0, 0xc0000201, remote };
        hdr.udp.setValid();
        hdr.udp.src_port = 0xc000;
        hdr.udp.dst_port = 4789;
        hdr.udp.length = (bit<16>) std.packet_length + 16;
        hdr.udp.checksum = 0;
        hdr.vxlan = { flags = 8, network = network, ... };
        std.egress_spec = 9;
    }
    action unwrap(bit<9> port) {
        hdr.outer.setInvalid();
        hdr.ipv4.setInvalid();
        hdr.udp.setInvalid();
        hdr.vxlan.setInvalid();
        std.egress_spec = port;
    }
    action drop() {
        mark_to_drop(std);
    }
    table hosts {
        key = {
            std.ingress_port: exact;
            hdr.inner.dst: exact;
        }
        actions = { wrap; drop; }
        const default_action = drop();
    }
    table networks {
        key = {
            hdr.vxlan.network: exact;
            hdr.inner.dst: exact;
        }
        actions = { unwrap; drop; }
        const default_action = drop();
    }
    apply {
        if (hdr.vxlan.isValid()) {
            networks.apply();
        } else if (hdr.outer.isValid()) {
            drop();
        } else {
            hosts.apply();
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoVerify(), Tunnel(), NoEgress(), UpdateIpv4(), TestDeparser()) main;
