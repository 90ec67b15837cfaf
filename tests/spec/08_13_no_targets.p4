// Section 8.13: a struct in braces is nothing to assign to.

#include <core.p4>
#include <v1model.p4>

struct S {
    bit<32> a;
    bit<32> b;
}

control Work(inout S s) {
    apply {
        (S) { a = 1, b = 2 } = s; //~ E0110 E0110
    }
}
