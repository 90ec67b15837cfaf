// Section 7.1: there are no values of type void; a variable has neither type int nor string.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

void nothing() { }

control Work(inout data_t d) {
    apply {
        int n = 5;              //~ E0308
        string s = "text";      //~ E0308
        d.x = nothing();        //~ E0300
        bit<8> y = 1;
        int<8> z = y;           //~ E0300
    }
}
