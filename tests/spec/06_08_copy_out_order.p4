// Section 6.8: arguments are copied back from left to right, as the call has them: the last one wins where two are the same
// variable, also where arguments are named in another order than the parameters'.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> function_;
    bit<8> named_function;
    bit<8> control_;
    bit<8> named_control;
    bit<8> action_;
    bit<8> named_action;
}

bit<8> two(out bit<8> p, out bit<8> q) {
    p = 1;
    q = 2;
    return 0;
}

control Two(out bit<8> p, out bit<8> q) {
    apply {
        p = 3;
        q = 4;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Two() t;

    action add(inout bit<8> p, inout bit<8> q) {
        p = p + 1;
        q = q + 2;
    }

    apply {
        two(d.function_, d.function_);
        two(q = d.named_function, p = d.named_function);
        t.apply(d.control_, d.control_);
        t.apply(q = d.named_control, p = d.named_control);
        add(d.action_, d.action_);
        add(q = d.named_action, p = d.named_action);
    }
}

#include "../stf/frame/one_header.p4"
