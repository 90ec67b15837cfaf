// A router that answers packets whose TTL ends: ICMP time exceeded with the packet's first bytes, both checksums
// computed.

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
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> length;
    bit<16> id;
    bit<16> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header icmp_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
    bit<32> unused;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    icmp_t     icmp;
    ipv4_t     original;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action answer() {
        hdr.original = hdr.ipv4;
        hdr.icmp = { 11, 0, 0, 0 };
        bit<48> swap = hdr.ethernet.dst;
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = swap;
        hdr.ipv4.dst = hdr.ipv4.src;
        hdr.ipv4.src = 0x0a0000fe;
        hdr.ipv4.ttl = 64;
        hdr.ipv4.protocol = 1;
        hdr.ipv4.dscp = 0;
        hdr.ipv4.id = 0;
        // IPv4, ICMP, IPv4 again, eight bytes.
        hdr.ipv4.length = 20 + 8 + 20 + 8;
        truncate(14 + 56);
        std.egress_spec = std.ingress_port;
    }

    apply {
        if (!hdr.ipv4.isValid()) {
            mark_to_drop(std);
        } else if (hdr.ipv4.ttl < 2) {
            answer();
        } else {
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            std.egress_spec = 2;
        }
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.id,
            hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst }, hdr.ipv4.checksum,
            HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.icmp.isValid(), { hdr.icmp.type, hdr.icmp.code, hdr.icmp.unused, hdr.original.version,
            hdr.original.ihl, hdr.original.dscp, hdr.original.ecn, hdr.original.length, hdr.original.id, hdr.original.fragment,
            hdr.original.ttl, hdr.original.protocol, hdr.original.checksum, hdr.original.src, hdr.original.dst },
            hdr.icmp.checksum, HashAlgorithm.csum16);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), NoEgress(), Update(), TestDeparser()) main;
