// Arguments of sub-parsers keep the value that they had when they were reached (P4-16 6.8), as do those of functions that
// parsers call.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> sub;
    bit<8> lvalue;
    bit<8> function;
}

header x_t {
    bit<8> v;
}

struct headers_t {
    data_t d;
    x_t[2] s;
}

struct meta_t {
    bit<8> x;
    bit<8> i;
}

bit<8> set(out bit<8> v) {
    v = 0x55;
    return 1;
}

bit<8> one(out bit<8> v) {
    v = 1;
    return 2;
}

void add(inout bit<8> v, in bit<8> k) {
    v = v + k;
}

parser Sub(packet_in packet, inout meta_t m, in bit<8> k) {
    state start {
        m.x = m.x + k;
        transition accept;
    }
}

parser Second(packet_in packet, inout x_t h, in bit<8> k) {
    state start {
        h.v = h.v + k;
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Sub() sub;
    Second() second;

    state start {
        packet.extract(hdr.d);
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        meta.x = hdr.d.a;
        sub.apply(packet, meta, set(meta.x));
        hdr.d.sub = meta.x;
        meta.i = 0;
        second.apply(packet, hdr.s[meta.i], one(meta.i));
        hdr.d.lvalue = meta.i;
        meta.x = hdr.d.a;
        add(meta.x, set(meta.x));
        hdr.d.function = meta.x;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
