// A switch that spreads flows over groups of ports and measures them: action profile, selector, meters. The first byte
// of the source address says what was done with the packet.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<8> mark;
    bit<40> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {}

parser TheParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control MyIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    // Flows are numbered by the lowest bits of their source.
    @max_group_size(10)
    action_selector(HashAlgorithm.identity, 64, 8) ports;
    action_profile(4) marks;
    meter(8, MeterType.packets) by_type;
    direct_meter<bit<8>>(MeterType.bytes) by_flow;
    direct_counter(CounterType.packets) seen;

    action drop() {
        mark_to_drop(std);
    }

    action send(bit<9> port) {
        std.egress_spec = port;
    }

    table spread {
        key = {
            hdr.ethernet.dst : lpm;
            hdr.ethernet.src[7:0] : selector @name("flow");
        }
        actions = { send; drop; }
        default_action = drop();
        implementation = ports;
        counters = seen;
    }

    action mark(bit<8> as) {
        hdr.ethernet.mark = as;
    }

    table marking {
        key = { hdr.ethernet.type : exact @name("type"); }
        actions = { mark; NoAction; }
        default_action = NoAction();
        implementation = marks;
    }

    table marking_too {
        key = { std.ingress_port : exact @name("port"); }
        actions = { mark; NoAction; }
        default_action = NoAction();
        implementation = marks;
    }

    action color() {
        by_flow.read(hdr.ethernet.mark);
    }

    table flows {
        key = { hdr.ethernet.src : exact @name("src"); }
        actions = { color; NoAction; }
        default_action = NoAction();
        meters = by_flow;
    }

    apply {
        spread.apply();
        marking.apply();
        marking_too.apply();
        if (hdr.ethernet.type[15:8] == 0xff) {
            by_type.execute_meter((bit<32>)hdr.ethernet.type[7:0], hdr.ethernet.mark);
        }
        flows.apply();
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control TheDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(TheParser(), NoChecksums(), MyIngress(), NoEgress(), NoChecksums(), TheDeparser()) main;
