// Slices of values and as targets of assignments, and concatenation.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> a;
    bit<16> b;
    bit<24> joined;
    bit<8>  middle;
    bit<8>  of_sum;
    bit<16> patched;
    bit<4>  of_slice;
    bit<4>  one_bit;
    int<8>  top_signed;
    bit<32> swapped;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.joined = d.a ++ d.b[7:0];
        d.middle = d.a[11:4];
        d.of_sum = (d.a + d.b)[15:8];
        d.patched = d.a;
        d.patched[11:4] = d.b[7:0];
        d.patched[0:0] = 1;
        d.of_slice = d.a[15:4][7:4];
        d.one_bit = 3w0 ++ d.a[15:15];
        d.top_signed = (int<8>)d.a[15:8];
        d.swapped = d.a ++ d.b;
        // Both slices are read before the target is written.
        d.swapped = d.swapped[15:0] ++ d.swapped[31:16];
        d.b[15:8] = d.b[7:0];
    }
}

#include "frame/one_header.p4"
