// Section 18.3.1.5: instances have the names that they are bound to, below those of what makes them.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> first;
    bit<8> second;
}

control Callee(inout bit<8> result, in bit<8> key)(counter e_in) {
    action set(bit<8> v) {
        result = v;
    }

    table t {
        key = { key: exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }

    apply {
        t.apply();
        e_in.count(0);
    }
}

control Caller(inout data_t d) {
    counter(1, CounterType.packets) own;
    Callee(own) c1;
    Callee(own) c2;

    apply {
        c1.apply(d.first, d.key);
        c2.apply(d.second, d.key);
        c2.apply(d.second, d.key);
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Caller() caller;

    apply {
        caller.apply(d);
    }
}

#include "../stf/frame/one_header.p4"
