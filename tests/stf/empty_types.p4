// Structs and tuples without members, functions without parameters, empty blocks and statements.

#include <core.p4>
#include <v1model.p4>

struct none_t {}

header data_t {
    bit<8> a;
    bit<8> r;
}

bit<8> seven() {
    return 7;
}

void nothing() {}

none_t same(in none_t n) {
    return n;
}

control Nothing() {
    apply {}
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Nothing() nothing_control;

    action no_parameters() {
        ;
        {}
    }

    apply {
        none_t n;
        none_t m = same(n);
        tuple<> t = {};
        if (n == m && t == {}) {
            d.r = seven();
        } else {
        }
        nothing();
        no_parameters();
        nothing_control.apply();
        ;
    }
}

#include "frame/one_header.p4"
