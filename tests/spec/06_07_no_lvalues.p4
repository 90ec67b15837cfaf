// Section 6.7: what cannot be assigned to: results of calls, constants, expressions.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

const bit<8> FIXED = 1;

data_t make(in bit<8> x) {
    return { x };
}

void set(out bit<8> x) {
    x = 1;
}

control Work(inout data_t d) {
    apply {
        make(1).x = 2;          //~ E0305
        FIXED = 2;              //~ E0305
        (d.x + 1) = 2;          //~ E0305
        set(make(1).x);         //~ E0305
        set(5);                 //~ E0305
        set(d.x[3:0] ++ 4w0);   //~ E0305
    }
}
