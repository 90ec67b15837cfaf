// Section 6.8.1: a default value in the middle needs names; directions of constructor parameters; order of an action's
// parameters.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

bit<8> f(in bit<8> a, in bit<8> b = 2, in bit<8> c) {
    return a + b + c;
}

void g(inout bit<8> a = 3) { }  //~ E0317

control Directed(in bit<8> x)(in bit<8> n) { //~ E0317
    apply { }
}

control Work(inout data_t d) {
    action late(bit<8> data, inout bit<8> x) { //~ E0317
        x = data;
    }

    action set(inout bit<8> x, bit<8> by) {
        x = by;
    }

    table t {
        actions = {
            set;                //~ E0304
        }
    }

    apply {
        d.x = f(1, 3);          //~ E0304
        set(d.x);               //~ E0304
        t.apply();
    }
}
