// exit in an action that a table runs ends ingress there, inside an if or a switch on the table too.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> trace;
    bit<8> inout_value;
}

control Lookup(in bit<8> key, inout bit<8> value, inout bit<8> trace) {
    action stop(bit<8> v) {
        value = v;
        exit;
    }

    action go(bit<8> v) {
        value = v;
    }

    table t {
        key = { key : exact; }
        actions = { stop; go; }
        default_action = go(0x0d);
    }

    apply {
        if (t.apply().hit) {
            trace = trace | 1;
        } else {
            trace = trace | 2;
        }
        switch (t.apply().action_run) {
            stop: { trace = trace | 4; }
            go: { trace = trace | 8; }
        }
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Lookup() lookup;

    apply {
        lookup.apply(d.key, d.inout_value, d.trace);
        d.trace = d.trace | 0x80;
    }
}

#include "frame/one_header.p4"
