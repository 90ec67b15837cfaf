// Where out and inout arguments go: fields, slices, stack elements by an index that the callee changes, struct
// members.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> i;
    bit<8> slice;
    bit<8> e0;
    bit<8> e1;
    bit<8> e2;
    bit<8> member;
    bit<8> self;
}

header cell_t {
    bit<8> x;
}

struct pair_t {
    bit<8> x;
    bit<8> y;
}

bit<8> take(inout bit<8> index, inout bit<8> cell) {
    index = index + 1;
    cell = cell + 0x10;
    return index;
}

void fill(out bit<4> high, out bit<2> low) {
    high = 0xa;
    low = 3;
}

bit<8> twice(inout bit<8> x, in bit<8> y) {
    x = x + y;
    return x + y;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    cell_t[3] cells;

    apply {
        fill(d.slice[7:4], d.slice[2:1]);
        cells[0] = { 1 };
        cells[1] = { 2 };
        cells[2] = { 3 };
        bit<8> i = d.i;
        // The element is fixed before the call although the call changes i.
        bit<8> after = take(i, cells[i].x);
        d.e0 = cells[0].x;
        d.e1 = cells[1].x;
        d.e2 = cells[2].x + (after << 4);
        pair_t p = { 5, 6 };
        d.member = twice(p.y, p.x) + (p.y << 4);
        d.self = 7;
        d.self = twice(d.self, d.self);
    }
}

#include "frame/one_header.p4"
