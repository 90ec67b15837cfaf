// Section 13.5: a transition leads to a state of this parser, and nothing follows it.

#include <core.p4>
#include <v1model.p4>

parser P(in bit<8> x) {
    state start {
        transition nowhere;     //~ E0206
    }
}
