// Section 13.2: states and local elements share their names.

#include <core.p4>
#include <v1model.p4>

parser same_name(in bit<8> x) {
    bit<4> t;
    state start {
        t = 1;
        transition t;
    }
    state t {                   //~ E0201
        transition accept;
    }
}
