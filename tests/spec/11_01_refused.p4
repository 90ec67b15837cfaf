// Section 11.1: a constant's value is known while compiling, and is not changed.

#include <core.p4>
#include <v1model.p4>

const bit<8> FIXED = 1;

control Work(inout bit<8> x)(bit<8> n) {
    const bit<8> variable = x;  //~ E0400
    apply {
        FIXED = x;              //~ E0305
    }
}
