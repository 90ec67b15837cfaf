// Controls called by their type's name, nested controls with tables, and constructor arguments passed down.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

control Add(inout bit<8> x)(bit<8> amount) {
    apply {
        x = x + amount;
    }
}

control Simple(inout bit<8> x) {
    table t {
        key = { x : exact; }
        actions = { NoAction; }
    }

    apply {
        if (t.apply().hit) {
            x = 0xff;
        }
    }
}

control AddTwice(inout bit<8> x)(bit<8> amount) {
    Add(amount) once;
    Add(amount * 2) more;

    apply {
        once.apply(x);
        more.apply(x);
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    AddTwice(1) small;
    AddTwice(0x10) large;

    apply {
        small.apply(d.a);
        large.apply(d.b);
        Simple.apply(d.c);
    }
}

#include "frame/one_header.p4"
