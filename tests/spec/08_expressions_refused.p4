// Section 8: operators that do not associate: comparisons of comparisons need parentheses or fitting types.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> a, inout bit<8> b) {
    apply {
        if (a < b < 1) { }      //~ E0301
        if (a & b) { }          //~ E0300
        if (!a) { }             //~ E0301
    }
}
