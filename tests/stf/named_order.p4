// Named members and named arguments are evaluated in the order of the text.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> x;
    bit<8> y;
}

header data_t {
    bit<8> x;
    bit<8> y;
    bit<8> argument;
}

bit<8> step(inout bit<8> i) {
    i = i + 1;
    return i;
}

bit<8> join(in bit<8> x, in bit<8> y) {
    return x << 4 | y;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<8> i = 0;
        pair_t p = { y = step(i), x = step(i) };
        d.x = p.x;
        d.y = p.y;
        i = 0;
        d.argument = join(y = step(i), x = step(i));
    }
}

#include "frame/one_header.p4"
