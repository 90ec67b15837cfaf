// Section 15: constructor parameters have no directions, and their arguments are known while compiling.
// Section 15.1: what has constructor parameters is not applied directly.

#include <core.p4>
#include <v1model.p4>

control Callee(inout bit<8> x)(bit<8> n) {
    apply {
        x = n;
    }
}

parser Directed(in bit<8> x)(in bool y) { //~ E0317
    state start {
        transition accept;
    }
}

control Work(inout bit<8> x) {
    Callee(x) variable;         //~ E0400
    Callee() few;               //~ E0304
    apply {
        Callee.apply(x);        //~ E0304
    }
}
