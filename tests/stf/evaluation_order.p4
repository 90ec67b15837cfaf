// Operands and arguments are evaluated from left to right, each with the effects of those before it.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> state;
    bit<8> binary;
    bit<8> first;
    bit<8> second;
    bit<8> nested;
    bit<8> saved_argument;
    bit<8> after;
}

bit<8> next(inout bit<8> state) {
    state = state + 1;
    return state;
}

bit<8> pair(in bit<8> x, in bit<8> y) {
    return x * 16 + y;
}

bit<8> keep_first(in bit<8> x, inout bit<8> state) {
    state = 0x40;
    return x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        // 1 * 16 + 2
        d.binary = next(d.state) * 16 + next(d.state);
        // The value on the left is taken before the call on the right changes it: 2 + 3.
        d.first = d.state + next(d.state);
        // The call first: 4 + 4.
        d.second = next(d.state) + d.state;
        d.nested = pair(next(d.state), pair(next(d.state), 0) >> 4);
        // An `in` argument is a copy, made before the callee runs.
        d.saved_argument = keep_first(d.state, d.state);
        d.after = d.state;
    }
}

#include "frame/one_header.p4"
