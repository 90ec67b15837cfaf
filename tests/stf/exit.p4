// `exit` ends the whole ingress from a control or an action, after copying out; `return` only its own block.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> in_action;
    bit<8> in_control;
    bit<8> trace;
}

control Inner(inout bit<8> what, inout bit<8> value, inout bit<8> trace) {
    action leave() {
        trace = trace | 4;
        exit;
    }

    apply {
        value = 0x55;
        if (what == 1) {
            exit;
        } else if (what == 2) {
            leave();
        } else if (what == 3) {
            return;
        }
        trace = trace | 1;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Inner() inner;

    action change(inout bit<8> value) {
        value = 0x66;
        if (d.what == 4) {
            exit;
        }
        value = 0x67;
    }

    apply {
        inner.apply(d.what, d.in_control, d.trace);
        d.trace = d.trace | 2;
        change(d.in_action);
        d.trace = d.trace | 8;
    }
}

#include "frame/one_header.p4"
