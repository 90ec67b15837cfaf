// Section 20.3.3.1: two tables with one name, because an instance is made twice of a control with an absolute name in it: a
// warning, and there is no P4Info of such a program.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

control c(inout data_t d) {
    @name(".foo.bar") table t { //~ W0030
        key = { d.x: exact; }
        actions = { NoAction; }
        default_action = NoAction();
    }

    apply {
        t.apply();
        d.x = d.x + 1;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    c() c1;
    c() c2;

    apply {
        c1.apply(d);
        c2.apply(d);
    }
}

#include "../stf/frame/one_header.p4"
