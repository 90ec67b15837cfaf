// Section 12.5: parsers do not exit.

#include <core.p4>
#include <v1model.p4>

parser P(in bit<8> x) {
    state start {
        exit;                   //~ E0117
        transition accept;
    }
}
