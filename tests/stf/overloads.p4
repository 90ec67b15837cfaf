// Functions and actions of one name chosen by their number of arguments and by the names given.

#include <core.p4>
#include <v1model.p4>

bit<8> f(in bit<8> x) {
    return x + 1;
}

bit<8> f(in bit<8> x, in bit<8> y) {
    return x - y;
}

bit<8> f(in bit<8> x, in bit<8> y, in bit<8> z) {
    return x * y + z;
}

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> one;
    bit<8> two;
    bit<8> three;
    bit<8> nested;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.one = f(d.a);
        d.two = f(d.a, d.b);
        d.three = f(d.a, d.b, 3);
        d.nested = f(f(d.a), f(d.a, d.b));
    }
}

#include "frame/one_header.p4"
