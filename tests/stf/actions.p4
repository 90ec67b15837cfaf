// Actions called directly: parameters with directions, early return, actions that call actions.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> doubled;
    bit<8> clamped;
    bit<8> twice;
    bit<8> constant;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    bit<8> shared = 0;

    action double(in bit<8> x, out bit<8> y) {
        y = x + x;
    }

    action clamp(inout bit<8> x, in bit<8> limit) {
        if (x <= limit) {
            return;
        }
        x = limit;
        shared = shared + 1;
    }

    action quadruple(inout bit<8> x) {
        bit<8> half;
        double(x, half);
        double(half, x);
    }

    // A parameter without direction takes a value like one with `in` does.
    action load(bit<8> value) {
        d.constant = value + shared;
    }

    apply {
        double(d.x, d.doubled);
        d.clamped = d.x;
        clamp(d.clamped, 0x20);
        d.twice = d.x;
        quadruple(d.twice);
        load(0x10);
    }
}

#include "frame/one_header.p4"
