// A calculator on the wire: two operands and an operator come, the result goes back where they came from.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header calc_t {
    bit<16> magic;
    bit<8>  version;
    bit<8>  op;
    bit<32> a;
    bit<32> b;
    bit<32> result;
}

struct headers_t {
    ethernet_t ethernet;
    calc_t     calc;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x1234: check;
            default: accept;
        }
    }

    state check {
        transition select(packet.lookahead<calc_t>().magic, packet.lookahead<calc_t>().version) {
            (0x5034, 1): calc;
            default: accept;
        }
    }

    state calc {
        packet.extract(hdr.calc);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action send_back(bit<32> result) {
        hdr.calc.result = result;
        bit<48> swap = hdr.ethernet.dst;
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = swap;
        std.egress_spec = std.ingress_port;
    }
    action add() {
        send_back(hdr.calc.a + hdr.calc.b);
    }
    action subtract() {
        send_back(hdr.calc.a - hdr.calc.b);
    }
    action conjunction() {
        send_back(hdr.calc.a & hdr.calc.b);
    }
    action disjunction() {
        send_back(hdr.calc.a | hdr.calc.b);
    }
    action exclusive() {
        send_back(hdr.calc.a ^ hdr.calc.b);
    }
    action drop() {
        mark_to_drop(std);
    }

    table calculate {
        key = { hdr.calc.op : exact; }
        actions = { add; subtract; conjunction; disjunction; exclusive; drop; }
        const default_action = drop();
        const entries = {
            0x2b : add();
            0x2d : subtract();
            0x26 : conjunction();
            0x7c : disjunction();
            0x5e : exclusive();
        }
    }

    apply {
        if (hdr.calc.isValid()) {
            calculate.apply();
        } else {
            drop();
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
