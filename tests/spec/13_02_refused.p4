// Section 13.2: parsers have a state `start`, no states `accept` and `reject`, no two states of one name, no controls.
// Section 13.4: a state's declarations are its own.

#include <core.p4>
#include <v1model.p4>

control c(inout bit<8> x) {
    apply { }
}

parser no_start(in bit<8> x) {  //~ E0207
    state begin {
        transition accept;
    }
}

parser own_accept(in bit<8> x) {
    state start {
        transition accept;
    }
    state accept { }            //~ E0201
    state reject { }            //~ E0201
}

parser twice(in bit<8> x) {
    c() inner;                  //~ E0406
    state start {
        bit<8> local = 1;
        transition start2;
    }
    state start2 {
        bit<8> y = local;       //~ E0200
        transition accept;
    }
    state start2 {              //~ E0201
        transition accept;
    }
}
