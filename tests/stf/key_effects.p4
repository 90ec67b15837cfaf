// Keys are evaluated once, before the action; what an action changes does not change what was looked up.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> calls;
    bit<8> seen;
}

bit<8> count(inout bit<8> calls, in bit<8> x) {
    calls = calls + 1;
    return x + calls;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> value) {
        d.seen = d.seen + value;
        d.a = 0xff;
    }

    table t {
        key = {
            count(d.calls, d.a) : exact @name("first");
            count(d.calls, d.a) : exact @name("second");
        }
        actions = { set; NoAction; }
    }

    apply {
        t.apply();
        t.apply();
    }
}

#include "frame/one_header.p4"
