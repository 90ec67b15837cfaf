// Two tables share an action profile, and two an action selector; each permits the actions of its own list.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> k;
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action_profile(16) profile;
    action_selector(HashAlgorithm.identity, 16, 8) selector;

    action set_a(bit<8> v) { d.a = v; }
    action set_b(bit<8> v) { d.b = v; }
    action set_both(bit<8> v) { d.a = v; d.b = v; }
    action set_c(bit<8> v) { d.c = v; }

    table first {
        key = { d.k: exact; }
        actions = { NoAction; set_a; set_both; }
        implementation = profile;
    }
    table second {
        key = { d.k: exact; }
        actions = { NoAction; set_b; set_both; }
        implementation = profile;
    }
    table third {
        key = { d.k: exact; d.a: selector; }
        actions = { NoAction; set_c; }
        implementation = selector;
    }
    table fourth {
        key = { d.k: exact; d.b: selector; }
        actions = { set_b; NoAction; set_c; }
        implementation = selector;
    }

    apply {
        first.apply();
        second.apply();
        third.apply();
        fourth.apply();
    }
}

#include "frame/one_header.p4"
