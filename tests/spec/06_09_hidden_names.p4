// Section 6.9: a dot leads to the top only: not to the declarations of a control, and not into another control.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

control Other(inout data_t d) {
    const bit<8> HIDDEN = 1;
    apply {
        d.x = .HIDDEN;          //~ E0200
    }
}

control Work(inout data_t d) {
    apply {
        d.x = HIDDEN;           //~ E0200
    }
}
