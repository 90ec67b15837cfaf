// Section 15: constructor parameters: a parser that handles UDP or not, a control with a number and an object.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<8> kind;
}

header udp_t {
    bit<8> port;
}

header tcp_t {
    bit<16> port;
}

struct packet_t {
    ethernet_t ethernet;
    udp_t      udp;
    tcp_t      tcp;
}

struct headers_t {
    packet_t with;
    packet_t without;
}

struct meta_t { }

parser GenericParser(packet_in packet, out packet_t p)(bool udp_support) {
    state start {
        packet.extract(p.ethernet);
        transition select(p.ethernet.kind) {
            6: tcp;
            17: try_udp;
            default: accept;
        }
    }

    state try_udp {
        transition select(udp_support) {
            false: accept;
            true: udp;
        }
    }

    state udp {
        packet.extract(p.udp);
        transition accept;
    }

    state tcp {
        packet.extract(p.tcp);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    GenericParser(true) with;
    GenericParser(udp_support = false) without;

    state start {
        with.apply(packet, hdr.with);
        without.apply(packet, hdr.without);
        transition accept;
    }
}

control Count(inout udp_t udp)(bit<8> step, counter c) {
    apply {
        udp.port = udp.port + step;
        c.count(1);
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(4, CounterType.packets) seen;
    Count(3, seen) three;
    Count(c = seen, step = 0x10) sixteen;

    apply {
        std.egress_spec = std.ingress_port;
        if (hdr.with.udp.isValid()) {
            three.apply(hdr.with.udp);
            sixteen.apply(hdr.with.udp);
        }
        if (hdr.without.udp.isValid()) {
            three.apply(hdr.without.udp);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "../stf/frame/pipeline.p4"
