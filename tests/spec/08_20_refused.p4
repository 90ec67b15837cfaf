// Section 8.20: arguments are as many as needed, each given once, all by name or none; `out` arguments are l-values of the same
// type.

#include <core.p4>
#include <v1model.p4>

void f(in bit<8> x, out bit<16> y) {
    y = (bit<16>) x;
}

T pick<T>(in bool first, in T a, in T b) {
    return first ? a : b;
}

control Work(inout bit<8> xa, inout bit<16> ya) {
    apply {
        f(xa, ya);
        f(x = xa);              //~ E0304
        f(x = xa, x = ya);      //~ E0304
        f(x = xa, ya);          //~ E0304
        f(z = xa, w = ya);      //~ E0304 E0304
        f(x = xa, y = 0);       //~ E0305
        f(xa, xa);              //~ E0300
        f(_, ya);               //~ E0317
        pick(true, 1, 2);       //~ E0303
        f<bit<8>>(xa, ya);      //~ E0204
    }
}
