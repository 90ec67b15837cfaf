// Section 8.21: a constructor in a table's property, by position and by name; an action profile shared by two tables.
// Section 14.2.1.6: a property of the architecture, `implementation`, whose value is an object: entries lead to members with the
// actions.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action_profile(1024) shared;

    action set_a(bit<8> v) { d.a = v; }
    action set_b(bit<8> v) { d.b = v; }
    action set_c(bit<8> v) { d.c = v; }

    table t {
        key = { d.key: exact; }
        actions = { set_a; }
        size = 1024;
        implementation = shared;
    }

    table u {
        key = { d.key: exact; }
        actions = { set_b; NoAction; }
        implementation = action_profile(size = 32);
    }

    table w {
        key = { d.key: exact; }
        actions = { set_c; NoAction; }
        @name("own") implementation = action_profile(32);
    }

    apply {
        t.apply();
        u.apply();
        w.apply();
    }
}

#include "../stf/frame/one_header.p4"
