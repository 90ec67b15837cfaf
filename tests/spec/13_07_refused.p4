// Section 13.7: `verify` takes a truth value and an error, and is for parsers.

#include <core.p4>
#include <v1model.p4>

parser P(in bit<8> x) {
    state start {
        verify(x, error.NoMatch);   //~ E0300
        verify(x == 1, 5);          //~ E0300
        transition accept;
    }
}

control Work(in bit<8> x) {
    apply {
        verify(x == 1, error.NoMatch); //~ E0310
    }
}
