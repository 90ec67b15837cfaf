// Targets that stand in their own new value: the whole right side is computed before anything is written.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> x;
    bit<8> y;
}

struct two_t {
    pair_t a;
    pair_t b;
}

header cell_t {
    bit<8> x;
    bit<8> y;
}

header data_t {
    bit<8>  a;
    bit<8>  b;
    bit<16> from_list;
    bit<16> from_names;
    bit<16> from_tuple;
    bit<16> from_header;
    bit<32> from_nested;
    bit<16> from_choice;
    bit<16> from_call;
    bit<16> from_slices;
    bit<16> from_stack;
}

pair_t turned(in pair_t p) {
    return { p.y, p.x };
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        pair_t p = { d.a, d.b };
        p = { p.y, p.x };
        d.from_list = p.x ++ p.y;
        p = { d.a, d.b };
        p = { y = p.x, x = p.y };
        d.from_names = p.x ++ p.y;
        tuple<bit<8>, bit<8>> t = { d.a, d.b };
        t = { t[1], t[0] };
        d.from_tuple = t[0] ++ t[1];
        cell_t h = { d.a, d.b };
        h = { h.y, h.x };
        d.from_header = h.x ++ h.y;
        two_t o = { { d.a, d.b }, { 1, 2 } };
        o = { o.b, { o.a.y, o.b.x } };
        d.from_nested = o.a.x ++ o.a.y ++ o.b.x ++ o.b.y;
        p = { d.a, d.b };
        p = d.a > d.b ? turned(p) : p;
        d.from_choice = p.x ++ p.y;
        p = { d.a, d.b };
        p = turned(turned(turned(p)));
        d.from_call = p.x ++ p.y;
        bit<16> s = d.a ++ d.b;
        s = s[7:0] ++ s[15:8];
        s[11:4] = s[15:12] ++ s[3:0];
        d.from_slices = s;
        cell_t[2] c;
        c[0] = { d.a, 0 };
        c[1] = { d.b, 0 };
        cell_t keep = c[0];
        c[0] = c[1];
        c[1] = keep;
        d.from_stack = c[0].x ++ c[1].x;
    }
}

#include "frame/one_header.p4"
