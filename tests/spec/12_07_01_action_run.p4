// Section 12.7.1: a switch over the action that a table ran: labels fall through to the next block; `default` is for other
// actions, hit or miss.
// Section 12.7: labels without a block at the end do nothing.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> r;
    bit<8> s;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action action1() { }
    action action2() { d.s = 1; }
    action action3() { }
    action action4() { }

    table t {
        key = { d.key: exact; }
        actions = { action1; action2; action3; action4; }
        const entries = {
            1: action1();
            2: action2();
            3: action3();
            4: action4();
            5: action4();
        }
        default_action = action2();
    }

    apply {
        switch (t.apply().action_run) {
            action1:
            action2: { d.r = 2; }
            action3: { d.r = 3; }
            default: { d.r = 9; }
        }
        switch (t.apply().action_run) {
            action2: { d.s = d.s + 0x10; }
            action1:
            action3:
        }
    }
}

#include "../stf/frame/one_header.p4"
