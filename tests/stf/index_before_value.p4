// The index of a target is what it was before the value is computed (P4-16 8.1), which changes the variable here: fields, slices,
// whole headers, compound assignment.

#include <core.p4>
#include <v1model.p4>

header cell_t {
    bit<8> x;
}

header data_t {
    bit<8> kind;
    bit<8> n;
    bit<8> first;
    bit<8> second;
    bit<8> third;
}

bit<8> next(inout bit<8> n) {
    n = n + 1;
    return n;
}

cell_t made(inout bit<8> n) {
    n = n + 1;
    return { n };
}

control Work(inout data_t d, inout standard_metadata_t std) {
    cell_t[3] c;

    apply {
        c[0] = { 0x50 };
        c[1] = { 0x60 };
        c[2] = { 0x70 };
        if (d.kind == 0) {
            c[d.n].x = next(d.n);
        } else if (d.kind == 1) {
            c[d.n].x[3:0] = (bit<4>)next(d.n);
        } else if (d.kind == 2) {
            c[d.n] = made(d.n);
        } else {
            c[d.n].x += next(d.n);
        }
        d.first = c[0].x;
        d.second = c[1].x;
        d.third = c[2].x;
    }
}

#include "frame/one_header.p4"
