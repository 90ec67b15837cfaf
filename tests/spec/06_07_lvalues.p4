// Section 6.7: what can be assigned to: names, members, elements, slices, and slices of members of elements.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

struct inner_t {
    bit<8> a;
    bit<8> b;
}

struct outer_t {
    inner_t inner;
    bit<8>  c;
}

header data_t {
    bit<8> i;
    bit<8> r0;
    bit<8> r1;
    bit<8> r2;
    bit<8> r3;
    bit<8> r4;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<8> name;
        outer_t s;
        item_t[3] stack;
        stack[0].setValid();
        stack[1].setValid();
        stack[2].setValid();
        name = 0x11;
        s.c = 0x22;
        s.inner = { 1, 2 };
        s.inner.b = 0x33;
        stack[1].x = 0x44;
        stack[2] = { 0x50 };
        stack[d.i].x[3:2] = 3;
        name[7:4] = 0x9;
        d.r0 = name;
        d.r1 = s.c;
        d.r2 = s.inner.a + s.inner.b;
        d.r3 = stack[1].x;
        d.r4 = stack[2].x;
        d.i[0:0] = 1;
    }
}

#include "../stf/frame/one_header.p4"
