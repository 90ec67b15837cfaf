// Section 18.3.1.2: the control plane calls a table by its name and those of the instances around it.
// Section 18.3.1.3: a key has the name of its expression, or the one that is given.
// Section 18.3.1.4: an action has its name.
// Section 18.3.3: in a table, an action's last name is enough; so is the last name of a table that is unambiguous.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> f2;
}

header data_t {
    bit<8> f1;
    bit<8> f2;
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> d;
}

control c(inout data_t data) {
    item_t[4] hdrs;

    action set(bit<8> v) { data.a = v; }
    action set_b(bit<8> v) { data.b = v; }
    action set_c(bit<8> v) { data.c = v; }
    action set_d(bit<8> v) { data.d = v; }

    table t {
        key = {
            data.f1: exact;
            hdrs[3].f2: exact;
        }
        actions = { set; NoAction; }
        default_action = NoAction();
    }

    table named {
        key = { data.f1 + 1: exact @name("f1_mask"); }
        actions = { set_b; NoAction; }
        default_action = NoAction();
    }

    table kinds {
        key = {
            data.isValid(): exact;
            hdrs[3].isValid(): exact;
            data.f1[3:0]: exact;
        }
        actions = { set_c; NoAction; }
        default_action = NoAction();
    }

    table shared {
        key = { data.f1: exact; }
        actions = { set_d; NoAction; }
        default_action = NoAction();
    }

    apply {
        hdrs[3] = { data.f2 };
        t.apply();
        named.apply();
        kinds.apply();
        shared.apply();
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    c() c_inst;

    apply {
        c_inst.apply(d);
    }
}

#include "../stf/frame/one_header.p4"
