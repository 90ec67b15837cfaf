// Source NAT for UDP: address and port from a table, checksums of IPv4 and UDP mended by the difference; a UDP checksum
// of zero stays zero.

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

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    udp_t      udp;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.offset, hdr.ipv4.protocol) {
            (5, 0, 17): udp;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        transition accept;
    }
}

control VerifyIpv4(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.offset,
              hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst }, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
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

bit<16> fold(in bit<32> sum) {
    bit<32> s = (sum & 0xffff) + (sum >> 16);
    return (bit<16>) ((s & 0xffff) + (s >> 16));
}

control Nat(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action translate(bit<32> address, bit<16> port) {
        bit<32> sum = (bit<32>) ~hdr.udp.checksum;
        sum = sum + (bit<32>) ~hdr.ipv4.src[31:16] + (bit<32>) ~hdr.ipv4.src[15:0] + (bit<32>) ~hdr.udp.src_port;
        sum = sum + (bit<32>) address[31:16] + (bit<32>) address[15:0] + (bit<32>) port;
        hdr.ipv4.src = address;
        hdr.udp.src_port = port;
        if (hdr.udp.checksum != 0) {
            bit<16> checksum = ~fold(sum);
            hdr.udp.checksum = checksum == 0 ? 16w0xffff : checksum;
        }
        std.egress_spec = 2;
    }
    action drop() {
        mark_to_drop(std);
    }
    table sessions {
        key = {
            hdr.ipv4.src: exact;
            hdr.udp.src_port: exact;
        }
        actions = { translate; drop; }
        const default_action = drop();
    }
    apply {
        if (hdr.udp.isValid()) {
            sessions.apply();
        } else {
            drop();
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), VerifyIpv4(), Nat(), NoEgress(), UpdateIpv4(), TestDeparser()) main;
