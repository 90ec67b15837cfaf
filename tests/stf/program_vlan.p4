// Access and trunk ports: tags are pushed and popped, double tags kept, priorities carried over.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header vlan_t {
    bit<3>  priority;
    bit<1>  drop_eligible;
    bit<12> id;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
    vlan_t[2]  vlans;
}

struct meta_t {
    bit<12> vlan;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x8100: tag;
            0x88a8: tag;
            default: accept;
        }
    }
    state tag {
        packet.extract(hdr.vlans.next);
        transition select(hdr.vlans.last.type) {
            0x8100: tag;
            default: accept;
        }
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action access(bit<12> vlan) {
        hdr.vlans.push_front(1);
        hdr.vlans[0].setValid();
        hdr.vlans[0].id = vlan;
        hdr.vlans[0].type = hdr.ethernet.type;
        hdr.ethernet.type = 0x8100;
    }
    action trunk() {}
    action pop() {
        hdr.ethernet.type = hdr.vlans[0].type;
        hdr.vlans.pop_front(1);
    }
    table ingress_ports {
        key = { std.ingress_port: exact; }
        actions = { access; trunk; }
        const default_action = trunk;
        const entries = {
            1: access(10);
            2: access(20);
        }
    }
    action to_access(bit<9> port) {
        std.egress_spec = port;
        pop();
    }
    action to_trunk(bit<9> port) {
        std.egress_spec = port;
    }
    action discard() {
        mark_to_drop(std);
    }
    table out_ports {
        key = {
            hdr.ethernet.dst: exact;
            hdr.vlans[0].id: exact @name("vlan");
        }
        actions = { to_access; to_trunk; discard; }
        const default_action = discard();
        const entries = {
            (0x02000000000a, 10): to_access(1);
            (0x02000000000b, 20): to_access(2);
            (0x02000000000c, 10): to_trunk(3);
            (0x02000000000c, 20): to_trunk(3);
        }
    }
    apply {
        ingress_ports.apply();
        out_ports.apply();
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlans);
    }
}

#include "frame/pipeline.p4"
