// An access list: ternary addresses, optional protocol, range of ports; the entry of the highest number wins, each counts.

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
    direct_counter(CounterType.packets_and_bytes) rules;
    action permit(bit<9> port) {
        std.egress_spec = port;
        rules.count();
    }
    action deny() {
        mark_to_drop(std);
        rules.count();
    }
    table acl {
        key = {
            hdr.ipv4.src: ternary @name("src");
            hdr.ipv4.dst: ternary @name("dst");
            hdr.ipv4.protocol: optional @name("protocol");
            hdr.udp.dst_port: range @name("port");
        }
        actions = { permit; deny; }
        default_action = deny();
        counters = rules;
    }
    apply {
        acl.apply();
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
