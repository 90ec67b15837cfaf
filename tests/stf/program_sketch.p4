// A count-min sketch: three rows of registers by three hashes; flows whose smallest count passes a limit are
// marked.

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

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
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

control Row(in bit<64> flow, out bit<16> count)(bit<8> salt) {
    register<bit<16>>(64) cells;

    apply {
        bit<32> index;
        hash(index, HashAlgorithm.crc32, 32w0, { salt, flow }, 32w64);
        cells.read(count, index);
        count = count |+| 1;
        cells.write(index, count);
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Row(1) first;
    Row(2) second;
    Row(3) third;

    apply {
        std.egress_spec = 2;
        if (hdr.ipv4.isValid()) {
            bit<16> a;
            bit<16> b;
            bit<16> c;
            bit<64> flow = hdr.ipv4.src ++ hdr.ipv4.dst;
            first.apply(flow, a);
            second.apply(flow, b);
            third.apply(flow, c);
            bit<16> least = a < b ? a : b;
            least = c < least ? c : least;
            hdr.ipv4.id = least;
            if (least > 3) {
                hdr.ipv4.dscp = 8;
            }
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
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), NoEgress(), Update(), TestDeparser()) main;
