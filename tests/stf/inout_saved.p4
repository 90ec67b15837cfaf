// An inout argument keeps the value that it had when it was reached although later arguments change the variable (P4-16
// 6.8): metadata, structs, headers, locals; functions, actions, controls.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> a;
    bit<8> b;
}

header data_t {
    bit<8> op;
    bit<8> a;
    bit<8> b;
    bit<8> r;
}

struct headers_t {
    data_t d;
}

struct meta_t {
    pair_t s;
    bit<8> x;
    data_t h;
}

bit<8> set(out bit<8> v) {
    v = 0x55;
    return 1;
}

bit<8> inc(inout bit<8> v) {
    v = v + 1;
    return 2;
}

bit<8> set_both(out pair_t v) {
    v.a = 0x66;
    v.b = 0x77;
    return 3;
}

void keep(inout bit<8> z, in bit<8> k) {}

void add(inout pair_t z, in bit<8> k) {
    z.b = z.b + k;
}

void add_perhaps(inout pair_t z, in bit<8> k) {
    if (z.b == 0xee) {
        z.a = 9;
    }
    z.b = z.b + k;
}

void keep_two(inout pair_t z, inout bit<8> y) {}

void add_to_header(inout data_t z, in bit<8> k) {
    z.b = z.b + k;
}

control Sub(inout pair_t z, in bit<8> k) {
    apply {
        z.b = z.b + k;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.d);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Sub() sub;

    action act(inout pair_t z, in bit<8> k) {
        z.b = z.b + k;
    }

    apply {
        std.egress_spec = 1;
        meta.s = { hdr.d.a, hdr.d.b };
        meta.x = hdr.d.a;
        switch (hdr.d.op) {
            1: { keep(meta.x, set(meta.x)); meta.s.a = meta.x; }
            2: { add(meta.s, set(meta.s.a)); }
            3: { add(meta.s, set_both(meta.s)); }
            4: { sub.apply(meta.s, set(meta.s.a)); }
            5: { act(meta.s, inc(meta.s.a)); }
            6: { add_perhaps(meta.s, inc(meta.s.a)); }
            7: { keep_two(meta.s, meta.s.a); }
            8: { meta.h = hdr.d; add_to_header(meta.h, set(meta.h.a)); meta.s = { meta.h.a, meta.h.b }; }
            9: { bit<8> l = hdr.d.a; keep(l, inc(l)); meta.s.a = l; }
            10: { keep(hdr.d.a, set(hdr.d.a)); meta.s.a = hdr.d.a; }
            11: { pair_t l = meta.s; add(l, set_both(l)); meta.s = l; }
        }
        hdr.d.a = meta.s.a;
        hdr.d.b = meta.s.b;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.d);
    }
}

#include "frame/pipeline.p4"
