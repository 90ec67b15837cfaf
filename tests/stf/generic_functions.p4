// Generic functions: one text, another type at each call, given or inferred, also for structs and tuples.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> x;
    bit<8> y;
}

struct swap_t<T> {
    T x;
    T y;
}

T choose<T>(in bool which, in T yes, in T no) {
    if (which) {
        return yes;
    }
    return no;
}

T keep<T>(in T x) {
    return x;
}

void turn<T>(inout T x, inout T y) {
    T z = x;
    x = y;
    y = z;
}

header data_t {
    bit<8> a;
    bit<16> b;
    bit<8> chosen8;
    bit<16> chosen16;
    bit<8> from_struct;
    bit<16> nested;
    int<8> signed;
    bit<8> first;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.chosen8 = choose(d.a > 3, d.a, 8w0x11);
        d.chosen16 = choose<bit<16>>(d.a > 3, 0x2222, d.b);
        pair_t p = choose(d.a == 4, (pair_t) { d.a, 1 }, (pair_t) { 2, d.a });
        d.from_struct = p.x + p.y;
        d.nested = keep(keep(choose(true, d.b, 16w1)));
        d.signed = choose(d.a > 3, -8s1, 8s1);
        swap_t<bit<8>> s = { d.a, 8w7 };
        turn(s.x, s.y);
        d.first = s.x * 16 + s.y;
    }
}

#include "frame/one_header.p4"
