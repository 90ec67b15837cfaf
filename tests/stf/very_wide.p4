// Values of more than 128 bits: moved, joined, sliced, compared and computed with.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<200> a;
    bit<200> b;
    bit<200> sum;
    bit<200> moved;
    bit<16>  slice;
    bit<8>   equal;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.moved = d.a;
        d.slice = d.a[135:120];
        d.sum = d.a + d.b;
        d.equal = d.a == d.b ? 8w1 : 0;
    }
}

#include "frame/one_header.p4"
