// Section 6.8: an argument keeps the value that it had when it was reached, whatever later arguments change; it is copied back at
// the end.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> op;
    bit<8> a;
    bit<8> r;
}

void f(inout bit<8> x, in bit<8> y) {
    x = x + y;
}

bit<8> g(inout bit<8> z) {
    z = z + 0x10;
    return 1;
}

bit<8> first_of(in bit<8> x, in bit<8> y) {
    return x;
}

void copy(out bit<8> x, inout bit<8> y) {
    x = y + 1;
    y = y + 2;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<8> a = d.a;
        switch (d.op) {
            1: { f(a, g(a)); }
            2: { d.r = first_of(a, g(a)); }
            3: {
                bit<8> saved = a;
                bit<8> result = g(a);
                f(saved, result);
                a = saved;
            }
            4: { copy(a, a); }
            5: { f(d.r, g(d.r)); }
        }
        d.a = a;
    }
}

#include "../stf/frame/one_header.p4"
