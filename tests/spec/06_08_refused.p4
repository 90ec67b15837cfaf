// Section 6.8: `in` parameters are read only, `out` and `inout` arguments are l-values, externs are passed without direction.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
}

void read_only(in bit<8> x) {
    x = 1;                      //~ E0305
}

void change(inout bit<8> x) {
    x = 1;
}

void pass_on(in bit<8> x) {
    change(x);                  //~ E0305
}

control Gives(in packet_in packet) { //~ E0317
    apply { }
}

control Constant(in bit<8> x)(bit<8> n) {
    apply { }
}

control Work(inout data_t d) {
    Constant(d.a) constant;     //~ E0400
    apply {
        change(1);              //~ E0305
        change(d.a + 1);        //~ E0305
        change((bit<8>) d.a);   //~ E0305
    }
}
