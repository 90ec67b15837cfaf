// Section 8.26: `...` is the last element.

#include <core.p4>
#include <v1model.p4>

struct T {
    bit<8> n0;
    bit<8> n1;
}

control Work(inout bit<8> x) {
    apply {
        T t3 = { ..., n0 = 2 }; //~ E0110
    }
}
