// Parameters with a direction are copied in before and copied out after the call, in order of the parameters.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> aliased;
    bit<8> seen;
    bit<8> second_wins;
    bit<8> a;
    bit<8> b;
    bit<8> sliced;
    bit<8> out_ignores;
    bit<8> global;
}

// With the same variable for both, neither sees what happens to the other.
bit<8> both(inout bit<8> x, inout bit<8> y) {
    x = x + 1;
    y = y + 0x10;
    return x ^ y;
}

void swap(inout bit<8> x, inout bit<8> y) {
    bit<8> z = x;
    x = y;
    y = z;
}

void upper(inout bit<4> x) {
    x = ~x;
}

void set(out bit<8> x, in bit<8> y) {
    x = y + 1;
}

void set_two(out bit<8> x, out bit<8> y) {
    x = 1;
    y = 2;
}

control Change(inout data_t whole, inout bit<8> part) {
    apply {
        // `part` is a copy: the header's own field does not change with it.
        part = 0x77;
        whole.seen = whole.global;
        whole.global = 0x88;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Change() change;
    apply {
        d.seen = both(d.aliased, d.aliased);
        set_two(d.second_wins, d.second_wins);
        swap(d.a, d.b);
        upper(d.sliced[7:4]);
        // The argument of `in` is read before `out` is written.
        set(d.out_ignores, d.out_ignores);
        if (d.a == 2) {
            // `part` is copied out last.
            change.apply(d, d.global);
        }
    }
}

#include "frame/one_header.p4"
