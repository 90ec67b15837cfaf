// Equal-cost paths: a prefix leads to a group, a hash over the flow picks one of its members, a table its next
// hop.

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

header ports_t {
    bit<16> src;
    bit<16> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ports_t    ports;
}

struct meta_t {
    bit<16> group;
    bit<16> member;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            6: ports;
            17: ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }
    action group(bit<16> id, bit<16> size) {
        meta.group = id;
        if (hdr.ports.isValid()) {
            hash(meta.member, HashAlgorithm.crc16, 16w0,
                { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, hdr.ports.src, hdr.ports.dst }, size);
        } else {
            hash(meta.member, HashAlgorithm.crc16, 16w0, { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol }, size);
        }
    }
    action hop(bit<48> dst, bit<9> port) {
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = dst;
        std.egress_spec = port;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table prefixes {
        key = { hdr.ipv4.dst : lpm; }
        actions = { group; drop; }
        default_action = drop();
    }
    table members {
        key = {
            meta.group  : exact;
            meta.member : exact;
        }
        actions = { hop; drop; }
        default_action = drop();
    }

    apply {
        if (hdr.ipv4.isValid() && prefixes.apply().hit) {
            members.apply();
        } else {
            drop();
        }
    }
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.id,
            hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst }, hdr.ipv4.checksum,
            HashAlgorithm.csum16);
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), NoEgress(), Update(), TestDeparser()) main;
