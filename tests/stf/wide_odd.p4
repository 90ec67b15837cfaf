// Widths between 65 and 127 bits that are not whole bytes wrap, saturate and keep their sign at their own width.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<100> a;
    int<68>  b;
    bit<100> sum;
    int<68>  half;
    bit<100> bounded;
    int<68>  negated;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum = d.a + 1;
        d.half = d.b >> 1;
        d.bounded = d.a |+| 100w0x10;
        d.negated = -d.b;
    }
}

#include "frame/one_header.p4"
