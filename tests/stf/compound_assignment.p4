// Compound assignments, also to slices of their target.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  added;
    bit<8>  subtracted;
    bit<8>  multiplied;
    bit<8>  divided;
    bit<8>  remainder;
    bit<8>  shifted_left;
    int<8>  shifted_right;
    bit<8>  masked;
    bit<8>  set;
    bit<8>  toggled;
    bit<8>  saturated_up;
    bit<8>  saturated_down;
    bit<8>  low_half;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.added += 200;
        d.subtracted -= 200;
        d.multiplied *= 3;
        d.divided /= 3;
        d.remainder %= 10;
        d.shifted_left <<= 2;
        d.shifted_right >>= 2;
        d.masked &= 0x0f;
        d.set |= 0x0f;
        d.toggled ^= 0xff;
        d.saturated_up |+|= 200;
        d.saturated_down |-|= 200;
        // The carry stays within the slice.
        d.low_half[3:0] += 9;
    }
}

#include "frame/one_header.p4"
