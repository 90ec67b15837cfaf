// Section 12.4: a parser does not return.

#include <core.p4>
#include <v1model.p4>

parser P(in bit<8> x) {
    state start {
        return;                 //~ E0117
        transition accept;
    }
}
