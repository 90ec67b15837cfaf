// Section 8.11.3: operands of different widths and signs, casts that change both, shifts by signed amounts, bitwise operators on
// int.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x, inout bit<16> y, inout int<8> z) {
    apply {
        y = x + y;              //~ E0301
        x = x + z;              //~ E0301
        z = (int<8>) y;         //~ E0302
        y = y + z;              //~ E0301
        x = x << z;             //~ E0301
        if (x < z) { }          //~ E0301
        x = (1 << x)[7:0];      //~ E0307
        x = (~1)[7:0];          //~ E0301
        x = (5 & -3)[7:0];      //~ E0301
    }
}
