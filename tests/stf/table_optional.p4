// Optional keys: a value or anything; priorities order the entries.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.result = v;
    }
    table t {
        key = {
            d.a: optional;
            d.b: optional;
        }
        actions = { set; }
        const default_action = set(0xdd);
        const entries = {
            (1, 2): set(1);
            (1, _): set(2);
            (_, 2): set(3);
        }
    }
    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"
