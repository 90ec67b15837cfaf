// A firewall: what comes from inside opens the way back for its flow, in a register array indexed by a hash.

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
        packet.extract(hdr.ipv4);
        packet.extract(hdr.udp);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<1>>(4096) open;
    counter(2, CounterType.packets) seen;
    apply {
        bit<32> index;
        bit<1> is_open = 0;
        if (std.ingress_port == 1) {
            hash(index, HashAlgorithm.crc32, 32w0,
                { hdr.ipv4.src, hdr.ipv4.dst, hdr.udp.src_port, hdr.udp.dst_port }, 32w4096);
            open.write(index, 1);
            std.egress_spec = 2;
        } else {
            hash(index, HashAlgorithm.crc32, 32w0,
                { hdr.ipv4.dst, hdr.ipv4.src, hdr.udp.dst_port, hdr.udp.src_port }, 32w4096);
            open.read(is_open, index);
            if (is_open == 1) {
                std.egress_spec = 1;
            } else {
                mark_to_drop(std);
            }
            seen.count((bit<32>) is_open);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
