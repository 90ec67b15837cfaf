// Section 8.18.1: a stack has a value for each element, and all of its type.

#include <core.p4>
#include <v1model.p4>

header H {
    bit<8> b;
}

header G {
    bit<8> b;
}

control Work(inout H[2] s, inout G g) {
    apply {
        s = { { 1 }, { 2 }, { 3 } }; //~ E0300
        s = { { 1 } };          //~ E0300
        s = { { 1 }, g };       //~ E0300
    }
}
