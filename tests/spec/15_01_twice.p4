// Section 15.1: with tables in it, a control that is applied directly twice in a scope makes two tables of one name: a warning,
// and there is no P4Info of such a program.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

control Callee(inout bit<8> x) {
    table t {                   //~ W0030
        key = { x: exact; }
        actions = { NoAction; }
        default_action = NoAction();
    }

    apply {
        t.apply();
        x = x + 1;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        Callee.apply(d.x);
        Callee.apply(d.x);
    }
}

#include "../stf/frame/one_header.p4"
