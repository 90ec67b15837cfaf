// Slices of stack elements, of struct members, of slices, with compound assignment and as inout arguments.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  i;
    bit<16> a;
    bit<16> b;
    bit<16> c;
    bit<16> e;
}

header cell_t {
    bit<16> x;
}

struct holder_t {
    bit<16> x;
}

void bump(inout bit<4> x) {
    x = x + 1;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    cell_t[2] cells;
    holder_t holder;

    apply {
        cells[0] = { d.a };
        cells[1] = { d.a };
        cells[d.i].x[11:4] = 0xee;
        d.b = cells[0].x ^ cells[1].x;
        holder.x = d.a;
        holder.x[7:0][3:0] = 0xf;
        bump(holder.x[7:4]);
        bump(holder.x[15:12]);
        d.c = holder.x;
        d.e[15:8] += 3;
        d.e[8:1] ^= 0xff;
        d.e[0:0] |= 1;
    }
}

#include "frame/one_header.p4"
