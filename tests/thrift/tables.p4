// A switch with everything that BMv2's command line reads and writes: tables of all kinds of match, an action profile, a selector,
// counters, meters, registers, a value set, multicast groups, clones.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> length;
    bit<32> other;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct meta_t {
    bit<16> flow;
}

parser TheParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    // Types of frames that have an IPv4 header, too.
    value_set<bit<16>>(4) ip_types;

    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: parse_ipv4;
            ip_types: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control MyIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(16, CounterType.packets_and_bytes) by_port;
    direct_counter(CounterType.packets_and_bytes) routed;
    meter(8, MeterType.packets) by_protocol;
    direct_meter<bit<2>>(MeterType.packets) by_source;
    register<bit<32>>(16) last_ttl;
    register<bit<64>>(2) wide;
    action_profile(16) marks;
    action_selector(HashAlgorithm.crc16, 16, 8) paths;
    bit<2> color = 0;

    action drop() {
        mark_to_drop(std);
    }

    action send(bit<9> port) {
        std.egress_spec = port;
    }

    action forward(bit<48> dst, bit<9> port) {
        hdr.ethernet.dst = dst;
        std.egress_spec = port;
    }

    action flood(bit<16> group) {
        std.mcast_grp = group;
    }

    action copy(bit<32> session) {
        clone(CloneType.I2E, session);
    }

    action mark(bit<8> tos) {
        hdr.ipv4.tos = tos;
    }

    action measure() {
        by_source.read(color);
    }

    table routes {
        key = { hdr.ipv4.dst : lpm; }
        actions = { forward; flood; drop; NoAction; }
        size = 64;
        default_action = drop();
        counters = routed;
        support_timeout = true;
    }

    table hosts {
        key = { hdr.ethernet.dst : exact; }
        actions = { send; flood; drop; }
        const default_action = drop();
        size = 4;
    }

    table acl {
        key = {
            hdr.ipv4.src : ternary;
            hdr.ipv4.protocol : range;
            hdr.ipv4.ttl : optional;
            meta.flow : exact;
        }
        actions = { drop; copy; NoAction; }
        default_action = NoAction();
    }

    table marking {
        key = { std.ingress_port : exact; }
        actions = { mark; NoAction; }
        default_action = NoAction();
        implementation = marks;
    }

    table spread {
        key = {
            hdr.ipv4.dst : exact;
            hdr.ipv4.src : selector;
        }
        actions = { send; NoAction; }
        default_action = NoAction();
        implementation = paths;
    }

    table sources {
        key = { hdr.ethernet.src : exact; }
        actions = { measure; NoAction; }
        default_action = NoAction();
        meters = by_source;
    }

    table fixed {
        key = { hdr.ipv4.isValid() : exact; }
        actions = { NoAction; }
        default_action = NoAction();
        const entries = { true : NoAction(); }
    }

    table keyless {
        actions = { drop; NoAction; }
        default_action = NoAction();
    }

    apply {
        by_port.count((bit<32>)std.ingress_port);
        sources.apply();
        if (color == 2) {
            drop();
            exit;
        }
        if (hdr.ipv4.isValid()) {
            last_ttl.write((bit<32>)std.ingress_port, (bit<32>)hdr.ipv4.ttl);
            wide.write(1, (bit<64>)hdr.ethernet.src);
            hash(meta.flow, HashAlgorithm.crc16_custom, 16w0, { hdr.ipv4.src }, 32w0x10000);
            bit<2> of_protocol;
            by_protocol.execute_meter((bit<32>)hdr.ipv4.protocol & 7, of_protocol);
            if (of_protocol == 2) {
                drop();
                exit;
            }
            routes.apply();
            spread.apply();
            marking.apply();
            acl.apply();
        } else {
            hosts.apply();
        }
        fixed.apply();
        keyless.apply();
    }
}

control MyEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.egress_rid != 0) {
            hdr.ethernet.src[15:0] = std.egress_rid;
        }
    }
}

control TheDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(TheParser(), NoChecksums(), MyIngress(), MyEgress(), NoChecksums(), TheDeparser()) main;
