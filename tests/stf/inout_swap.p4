// Copy-in/copy-out with the same variable in several places: each parameter has its own copy, copied back
// from left to right.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> twice;
    bit<8> out_then_in;
}

void swap(inout bit<8> x, inout bit<8> y) {
    bit<8> t = x;
    x = y;
    y = t;
}

void both(inout bit<8> x, inout bit<8> y) {
    x = x + 1;
    y = y + 0x10;
}

void write(out bit<8> x, in bit<8> y) {
    x = y + 1;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        swap(d.a, d.b);
        // Both copies start from the same value; the last to be copied back stays.
        both(d.twice, d.twice);
        write(d.out_then_in, d.out_then_in);
    }
}

#include "frame/one_header.p4"
