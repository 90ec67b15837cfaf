// Section 20.3.2: actions for entries only, and for the default action only.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action a(bit<8> v) { d.x = v; }
    action b(bit<8> v) { d.x = v + 1; }
    action c(bit<8> v) { d.x = v + 2; }

    table t {
        key = { d.x: exact; }
        actions = {
            a;
            @tableonly b;
            @defaultonly c;
        }
        default_action = c(0x10);
    }

    apply {
        t.apply();
    }
}

#include "../stf/frame/one_header.p4"
