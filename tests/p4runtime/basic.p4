// A router with everything P4Runtime controls that the compiled engine has: tables of every match kind, direct and
// indirect counters, registers, packet-in and packet-out.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU = 510;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> len;
    bit<16> id;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> pad;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
    bit<7> reason;
}

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
            CPU: packet_out;
            default: ethernet;
        }
    }
    state packet_out {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }
    state ethernet {
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

control MyVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) routed;
    counter(16, CounterType.packets_and_bytes) by_port;
    register<bit<32>>(8) last_source;

    action drop() {
        mark_to_drop(standard);
    }

    action forward(bit<48> dst, bit<9> port) {
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        standard.egress_spec = port;
    }

    action punt(bit<7> reason) {
        meta.reason = reason;
        standard.egress_spec = CPU;
    }

    action permit() { }

    table ipv4_lpm {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; punt; drop; NoAction; }
        size = 300000;
        default_action = drop();
        counters = routed;
    }

    table l2 {
        key = { hdr.ethernet.dst: exact; standard.ingress_port: exact; }
        actions = { forward; punt; @tableonly permit; @defaultonly drop; }
        const default_action = drop();
        size = 300000;
    }

    table acl {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.protocol: optional;
            hdr.ipv4.ttl: range;
        }
        actions = { permit; drop; punt; }
        default_action = permit();
        size = 4;
    }

    table fixed {
        key = { hdr.ethernet.type: exact; }
        actions = { permit; drop; }
        const entries = {
            0x0800: permit();
            0x0806: permit();
        }
        const default_action = drop();
    }

    apply {
        if (hdr.packet_out.isValid()) {
            standard.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            return;
        }
        by_port.count((bit<32>)standard.ingress_port);
        fixed.apply();
        if (hdr.ipv4.isValid()) {
            last_source.write(0, hdr.ipv4.src);
            if (acl.apply().hit) {
                if (standard.egress_spec == 511) {
                    return;
                }
            }
            if (standard.egress_spec == 0) {
                ipv4_lpm.apply();
            }
        } else {
            l2.apply();
        }
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == CPU) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard.ingress_port;
            hdr.packet_in.reason = meta.reason;
        }
    }
}

control MyCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
