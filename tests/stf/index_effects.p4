// Run-time indices with effects: in targets, in operands on both sides, nested in other indices; each is computed
// once.

#include <core.p4>
#include <v1model.p4>

header cell_t {
    bit<8> x;
}

header data_t {
    bit<8> i;
    bit<8> first;
    bit<8> second;
    bit<8> third;
    bit<8> calls;
    bit<8> nested;
}

bit<8> next(inout bit<8> n) {
    n = n + 1;
    return n - 1;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    cell_t[3] c;

    apply {
        c[0] = { 1 };
        c[1] = { 2 };
        c[2] = { 0 };
        bit<8> n = d.i;
        d.nested = c[c[c[d.i].x].x].x;
        // The target's index comes first: c[i] = c[i + 1] + c[i + 2].
        c[next(n)].x = c[next(n)].x + c[next(n)].x;
        d.calls = n;
        n = 0;
        c[next(n)].x += 0x10;
        d.calls = d.calls << 4 | n;
        d.first = c[0].x;
        d.second = c[1].x;
        d.third = c[2].x;
    }
}

#include "frame/one_header.p4"
