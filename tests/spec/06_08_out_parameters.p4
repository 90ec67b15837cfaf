// Section 6.8: headers in `out` parameters start invalid, at every depth; stacks with their index at the first element.

#include <core.p4>
#include <v1model.p4>

header part_t {
    bit<8> x;
}

struct inner_t {
    part_t deep;
    bit<3> a;
    bit<7> b;
}

struct outer_t {
    part_t    flat;
    inner_t   inner;
    bit<5>    c;
    part_t[2] parts;
}

header data_t {
    bit<8> flat;
    bit<8> deep;
    bit<8> parts;
    bit<8> assigned;
}

void nothing(out outer_t p) { }

void look(out outer_t p, out bit<8> flat, out bit<8> deep) {
    flat = p.flat.isValid() ? 8w1 : 2;
    deep = p.inner.deep.isValid() ? 8w1 : 2;
    p.flat = { 7 };
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        outer_t p;
        p.flat = { 1 };
        p.inner.deep = { 2 };
        p.parts[0] = { 3 };
        look(p, d.flat, d.deep);
        d.assigned = p.flat.isValid() && !p.inner.deep.isValid() ? p.flat.x : 0;
        p.parts[1] = { 4 };
        nothing(p);
        d.parts = p.flat.isValid() || p.parts[0].isValid() || p.parts[1].isValid() ? 8w1 : 2;
    }
}

#include "../stf/frame/one_header.p4"
