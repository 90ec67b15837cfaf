// Fields that begin and end anywhere in a byte, also wider than 64 bits: each is read, changed and put back alone.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<1> a;
    bit<3> b;
    bit<9> c;
    bit<31> e;
    bit<65> f;
    bit<5> g;
    bit<127> h;
    bit<7> i;
    bit<2> j;
    bit<6> k;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.a = ~d.a;
        d.b = d.b + 1;
        d.c = ~d.c;
        d.e = d.e + 1;
        d.f = ~d.f;
        d.g = d.g + 1;
        d.h = ~d.h;
        d.i = d.i + 1;
        d.j = ~d.j;
        d.k = d.k + 1;
    }
}

#include "frame/one_header.p4"
