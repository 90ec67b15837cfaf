// Section 8.12: the elements of a tuple are not assigned to, the whole tuple is.

#include <core.p4>
#include <v1model.p4>

void set(out bit<8> x) {
    x = 1;
}

control Work(inout bit<8> x) {
    apply {
        tuple<bit<8>, bit<8>> t = { 1, 2 };
        t = { 3, 4 };
        t[0] = 3;               //~ E0305
        t[1] = t[0];            //~ E0305
        set(t[0]);              //~ E0305
    }
}
