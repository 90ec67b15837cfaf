// Section 8.12: the index of a tuple is known while compiling and within it; a tuple's length is that of what it initialises.

#include <core.p4>
#include <v1model.p4>

struct S {
    bit<32> a;
    bit<32> b;
}

control Work(inout bit<8> x) {
    apply {
        tuple<bit<8>, bool> t = { 1, true };
        x = t[x];               //~ E0400
        x = t[2];               //~ E0405
        S s = { 1 };            //~ E0300
        s = { 1, 2, 3 };        //~ E0300
        tuple<bit<8>, bool> u = { 1, 2 }; //~ E0300
    }
}
