// Section 14.2.1.3: the default action stands behind the list of actions.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action c() { }
    table t {
        key = { d.x: exact; }
        default_action = c();   //~ E0311
        actions = { c; }
    }
    apply {
        t.apply();
    }
}

#include "../stf/frame/one_header.p4"
