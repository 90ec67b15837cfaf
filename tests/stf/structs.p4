// Structs and headers as values: assignment copies, list and structure expressions, comparison, nesting.

#include <core.p4>
#include <v1model.p4>

struct point_t {
    bit<8> x;
    bit<8> y;
}

struct line_t {
    point_t from;
    point_t to;
    bool    thick;
}

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> copied;
    bit<8> original;
    bit<8> list;
    bit<8> named;
    bit<8> equal;
    bit<8> nested;
    bit<8> rest;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        point_t p = { d.a, d.b };
        point_t q = p;
        q.x = 0x11;
        d.copied = q.x + q.y;
        d.original = p.x;
        line_t l = { p, { 3, 4 }, true };
        d.list = l.to.x * 16 + l.to.y;
        l = (line_t){ thick = false, to = { y = 6, x = 5 }, from = q };
        d.named = l.to.x * 16 + l.to.y;
        d.equal = (bit<8>)(bit<1>)(p == q) | (bit<8>)(bit<1>)(l.from == q) << 1
            | (bit<8>)(bit<1>)(l.to != q) << 2 | (bit<8>)(bit<1>)l.thick << 3;
        // The right side is evaluated before anything is written.
        p = { p.y, p.x };
        d.nested = p.x;
        l.from = l.to;
        point_t r = { x = 0xab, ... };
        d.rest = r.x + r.y;
    }
}

#include "frame/one_header.p4"
