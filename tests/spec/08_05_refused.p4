// Section 8.5: a number is no condition, and a truth value no number.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x, inout bool b) {
    apply {
        if (x) { }              //~ E0300
        x = b;                  //~ E0300
        b = x;                  //~ E0300
        b = b & b;              //~ E0301
        x = (bit<8>) b;         //~ E0302
        b = !x;                 //~ E0301
        b = x && b;             //~ E0301
    }
}
