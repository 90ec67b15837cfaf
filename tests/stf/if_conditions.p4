// Conditions of every kind: nested, with calls, tables, validity, comparison of structs, negations, and empty
// branches.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> r;
}

struct pair_t {
    bit<8> x;
    bit<8> y;
}

bool small(in bit<8> x) {
    return x < 4;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    table t {
        key = { d.a : exact; }
        actions = { NoAction; }
        const entries = {
            2 : NoAction();
            9 : NoAction();
        }
    }

    apply {
        pair_t p = { d.a, d.b };
        if (p == { 1, 2 }) {
            d.r = 1;
        } else if (small(d.a) && t.apply().hit) {
            d.r = 2;
        } else if (!(small(d.b) || d.a == 9)) {
            if (d.a > d.b) {
            } else {
                d.r = 3;
            }
        } else if (d.isValid() && (d.a == 9 ? small(d.b) : !small(d.b))) {
            d.r = 4;
        } else {
            ;
        }
    }
}

#include "frame/one_header.p4"
