// Section 13.6: what is selected has a type with an order of values or a tuple of these; cases fit it; a state is where a case
// leads.
// Section 13.11: a value set has the type of what is selected, and a size that is known.
// Section 18.3.1.1: a value set is declared in a parser before it is used.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

parser P(in data_t h, in bit<8> x, in bit<16> y) {
    value_set<bit<16>>(4) wide;
    value_set<bit<8>>((bit<32>) x) sized; //~ E0400
    state start {
        transition select(h) {  //~ E0315
            _: accept;
        }
    }
    state second {
        transition select(x) {
            wide: accept;       //~ E0313
            16w5: accept;       //~ E0300
            error.NoMatch: accept; //~ E0300
            later: accept;      //~ E0200
            3: x;               //~ E0206
            _: accept;
        }
    }
}
