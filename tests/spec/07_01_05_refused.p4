// Section 7.1.5: strings are no values of variables, fields or parameters with directions.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

struct wrong_t {
    string text;                //~ E0308
}

extern void tell(in string s);  //~ E0317

control Work(inout data_t d) {
    apply {
        string s = "a";         //~ E0308
        d.x = "a";              //~ E0300
    }
}
