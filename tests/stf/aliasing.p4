// Aliasing: parameters are copies also of what the callee can reach by another name, through several levels, and at exit.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> x;
    bit<8> y;
}

header data_t {
    bit<8> what;
    bit<8> a;
    bit<8> seen;
    bit<8> pair;
    bit<8> part;
    bit<8> deep;
    bit<8> mark;
}

bit<8> struct_and_member(inout pair_t whole, inout bit<8> member) {
    whole.x = 1;
    whole.y = 2;
    member = member + 0x10;
    return whole.x;
}

void overlap(inout bit<6> low, inout bit<6> high) {
    low = 0;
    high = 0x3f;
}

control Deeper(inout bit<8> v, in bit<8> what) {
    apply {
        v = v + 1;
        if (what == 1) {
            exit;
        }
        v = v + 1;
    }
}

control Deep(inout bit<8> v, in bit<8> what) {
    Deeper() deeper;

    apply {
        v = v + 0x10;
        deeper.apply(v, what);
        v = v + 0x10;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Deep() deep;

    // `x` stands for d.a in the call, but is a copy until the action ends.
    action reach(inout bit<8> x) {
        x = x + 1;
        d.a = 0x99;
        d.seen = x;
        x = x + 1;
    }

    apply {
        reach(d.a);
        pair_t p = { 7, 8 };
        d.pair = struct_and_member(p, p.x) + (p.x << 4) + p.y;
        overlap(d.part[5:0], d.part[7:2]);
        deep.apply(d.deep, d.what);
        d.mark = 1;
    }
}

#include "frame/one_header.p4"
