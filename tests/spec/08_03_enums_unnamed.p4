// Section 8.3: a value of an enum that has no name matches `default` in a select, and entries that do not care.

#include <core.p4>
#include <v1model.p4>

enum bit<16> EtherType {
    VLAN = 0x8100,
    IPV4 = 0x0800,
    IPV6 = 0x86dd
}

header ethernet_t {
    EtherType kind;
    bit<8>    state;
    bit<8>    ternary_;
    bit<8>    lpm_;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            EtherType.VLAN: vlan;
            EtherType.IPV4: ipv4;
            EtherType.IPV6: ipv6;
            default: other;
        }
    }

    state vlan {
        hdr.ethernet.state = 1;
        transition accept;
    }

    state ipv4 {
        hdr.ethernet.state = 4;
        transition accept;
    }

    state ipv6 {
        hdr.ethernet.state = 6;
        transition accept;
    }

    state other {
        hdr.ethernet.state = 0xff;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action by_ternary(bit<8> v) { hdr.ethernet.ternary_ = v; }
    action by_lpm(bit<8> v) { hdr.ethernet.lpm_ = v; }

    table t {
        key = { hdr.ethernet.kind: ternary; }
        actions = { by_ternary; NoAction; }
        const entries = {
            EtherType.IPV4: by_ternary(4);
            _: by_ternary(9);
        }
        default_action = NoAction();
    }

    table l {
        key = { hdr.ethernet.kind: lpm; }
        actions = { by_lpm; NoAction; }
        const entries = {
            EtherType.IPV6: by_lpm(6);
            _: by_lpm(9);
        }
        default_action = NoAction();
    }

    apply {
        std.egress_spec = std.ingress_port;
        t.apply();
        l.apply();
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "../stf/frame/pipeline.p4"
