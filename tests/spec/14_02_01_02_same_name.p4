// Section 14.2.1.2: two actions of a table have two names.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

action same() { }

control Work(inout data_t d, inout standard_metadata_t std) {
    action same() { }
    table t {
        key = { d.x: exact; }
        actions = { same; .same; } //~ E0201
    }
    apply {
        t.apply();
    }
}

#include "../stf/frame/one_header.p4"
