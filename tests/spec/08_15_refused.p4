// Section 8.15: sets fit what is selected.
// Section 8.15.1: a case has the type of what is selected.
// Section 8.15.3: operands of a mask have one type, and masks are for numbers.
// Section 8.15.4: operands of a range have one type.
// Section 8.15.5: a product has as many sets as there are values.

#include <core.p4>
#include <v1model.p4>

parser P(in bit<8> x, in bit<4> n, in bool b) {
    state start {
        transition select(x, n) {
            (1, 2): accept;
            1: accept;          //~ E0313
            (1, 2, 3): accept;  //~ E0313
            (8w1 &&& 4w1, 1): accept; //~ E0300
            (8w1 .. 4w1, 1): accept;  //~ E0300
            (1, 8w2): accept;   //~ E0300
            _: next;
        }
    }

    state next {
        transition select(b) {
            true &&& false: accept; //~ E0313
            1: accept;          //~ E0300
        }
    }
}
