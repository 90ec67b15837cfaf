// One variable for several parameters, whole and in part: each copy starts from the old value, the last copied
// back stays.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> x;
    bit<8> y;
}

header data_t {
    bit<8> a;
    bit<8> both;
    bit<8> result;
    bit<8> whole_first;
    bit<8> part_first;
    bit<8> slices;
    bit<8> out_only;
}

bit<8> f(inout bit<8> x, inout bit<8> y) {
    x = x + 1;
    y = y + 2;
    return x << 4 | y & 0xf;
}

void whole_part(inout pair_t p, inout bit<8> x) {
    p.x = p.x + 0x10;
    x = x + 1;
}

void part_whole(inout bit<8> x, inout pair_t p) {
    p.x = p.x + 0x10;
    x = x + 1;
}

void slices(inout bit<4> x, inout bit<4> y) {
    x = 0xf;
    y = y + 1;
}

void outs(out bit<8> x, in bit<8> y, out bit<8> z) {
    x = y + x;
    z = y + 1;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<8> v = d.a;
        d.result = f(v, v);
        d.both = v;
        pair_t p = { d.a, 0 };
        whole_part(p, p.x);
        d.whole_first = p.x;
        p = { d.a, 0 };
        part_whole(p.x, p);
        d.part_first = p.x;
        d.slices = d.a;
        slices(d.slices[5:2], d.slices[7:4]);
        v = d.a;
        outs(v, v, v);
        d.out_only = v;
    }
}

#include "frame/one_header.p4"
