// `return` in an action ends the action only; `exit` in an action ends the pipeline after copying out.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> mode;
    bit<8> in_action;
    bit<8> after_action;
    bit<8> copied;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action leave(inout bit<8> x, in bit<8> how) {
        x = 1;
        if (how == 1) {
            return;
        }
        x = 2;
        if (how == 2) {
            exit;
        }
        x = 3;
    }
    apply {
        bit<8> v = 0x55;
        leave(d.in_action, d.mode);
        leave(v, 0);
        d.copied = v;
        d.after_action = 0xaa;
    }
}

#include "frame/one_header.p4"
