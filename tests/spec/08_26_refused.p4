// Section 8.26: without `...` every field has a value; `...` is the last.

#include <core.p4>
#include <v1model.p4>

struct S {
    bit<32> b32;
    bool    b;
}

struct T {
    S      s;
    bit<8> n0;
    bit<8> n1;
}

control Work(inout bit<8> x) {
    apply {
        T t2 = { s = ... };     //~ E0300
    }
}
