// Section 8.12: a tuple in braces is nothing to assign to.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    apply {
        { x, x } = { 1, 2 };    //~ E0110 E0110
    }
}
