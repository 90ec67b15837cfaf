// Section 7.1.5: strings are arguments of externs, and give tables other names for the control plane.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.x = v;
    }

    @name("acl") table t1 {
        key = { d.x: exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }

    apply {
        log_msg("a packet");
        log_msg("value {}", { d.x });
        t1.apply();
    }
}

#include "../stf/frame/one_header.p4"
