// The example of P4-16 6.8: in `f(a, g(a))`, where `g` changes `a`, the first argument keeps the value that `a` had before
// the call of `g`, and is copied back after the call of `f`.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> op;
    bit<8> a;
    bit<8> r;
}

bit<8> f(inout bit<8> x, in bit<8> y) {
    x = x + y;
    return x;
}

bit<8> of_values(in bit<8> x, in bit<8> y) {
    return x + y;
}

void replace(inout bit<8> x, in bit<8> y) {
    x = y;
}

bit<8> g(inout bit<8> z) {
    z = z + 0x10;
    return 1;
}

bit<8> two(inout bit<8> x, inout bit<8> y, in bit<8> k) {
    x = x + k;
    return y;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action fa(inout bit<8> x, in bit<8> y) {
        x = x + y;
    }

    apply {
        bit<8> a = d.a;
        switch (d.op) {
            1: { f(a, g(a)); }
            2: { d.r = of_values(a, g(a)); }
            3: { d.r = f(a, g(a)) + a; }
            4: { fa(a, g(a)); }
            5: { replace(a, g(a)); }
            6: { d.r = two(a, a, g(a)); }
            7: { d.r = f(a, f(a, g(a))); }
            8: { f(d.a, g(d.a)); a = d.a; }
        }
        d.a = a;
    }
}

#include "frame/one_header.p4"
