// Section 15.1: a control and a parser without constructor parameters are applied as if they were instances; each place is an
// instance.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> table_;
    bit<8> trace;
}

struct headers_t {
    data_t data;
}

struct meta_t { }

parser Inner(packet_in packet, out data_t d) {
    state start {
        packet.extract(d);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        Inner.apply(packet, hdr.data);
        transition accept;
    }
}

control Callee(inout bit<8> x, in bit<8> key) {
    action add(bit<8> n) {
        x = x + n;
    }

    table t {
        key = { key: exact; }
        actions = { add; NoAction; }
        default_action = NoAction();
    }

    apply {
        x = x + 1;
        t.apply();
    }
}

control Plain(inout bit<8> x) {
    apply {
        x = x + 1;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        Callee.apply(hdr.data.table_, hdr.data.x);
        Plain.apply(hdr.data.trace);
        Plain.apply(hdr.data.trace);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "../stf/frame/pipeline.p4"
