// Constant entries that leave exact keys open (P4-16 14.2.1.4): the first that matches wins.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> exact_only;
    bit<8> mixed;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action first(bit<8> v) { d.exact_only = v; }
    action second(bit<8> v) { d.mixed = v; }

    table exact_only {
        key = { d.a: exact; d.b: exact; }
        actions = { first; }
        default_action = first(0);
        const entries = {
            (1, 1): first(1);
            (1, _): first(2);
            (_, 1): first(3);
        }
    }

    table mixed {
        key = { d.a: exact; d.b: ternary; }
        actions = { second; NoAction; }
        default_action = NoAction();
        const entries = {
            (1, 0 &&& 1): second(4);
            (2, _): second(5);
            _: second(6);
        }
    }

    apply {
        exact_only.apply();
        mixed.apply();
    }
}

#include "frame/one_header.p4"
