// Classes of service: DSCP to priority by ranges, remarking at the edge by port, counters per class and direction
// of the packet.

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

struct meta_t {
    bit<3> traffic_class;
}

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
    counter(8, CounterType.packets_and_bytes) classes;

    action classify(bit<3> traffic_class) {
        meta.traffic_class = traffic_class;
        std.priority = traffic_class;
    }
    action remark(bit<6> dscp) {
        hdr.ipv4.dscp = dscp;
    }
    table edge {
        key = { std.ingress_port : exact; }
        actions = { remark; NoAction; }
        default_action = NoAction();
    }
    table dscps {
        key = { hdr.ipv4.dscp : range; }
        actions = { classify; }
        default_action = classify(0);
        const entries = {
            46       : classify(7);
            40 .. 63 : classify(6);
            8 .. 15  : classify(1);
        }
    }

    apply {
        std.egress_spec = 2;
        if (hdr.ipv4.isValid()) {
            edge.apply();
            dscps.apply();
        }
        classes.count((bit<32>) meta.traffic_class);
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.priority == 6) {
            hdr.ipv4.ecn = 3;
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

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), Update(), TestDeparser()) main;
