// Section 7.2.12.2: parsers, controls and packages are not run-time parameters of other blocks, functions and actions.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

control Inner(inout data_t d) {
    apply { }
}

control Outer(inout data_t d, Inner inner) { //~ E0308
    apply { }
}
