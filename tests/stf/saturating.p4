// Saturating addition and subtraction stop at the ends of the type's range.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  a;
    bit<8>  b;
    bit<8>  sum;
    bit<8>  difference;
    int<8>  signed_sum;
    int<8>  signed_difference;
    bit<12> narrow_sum;
    int<12> narrow_difference;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum = d.a |+| d.b;
        d.difference = d.a |-| d.b;
        int<8> x = (int<8>)d.a;
        int<8> y = (int<8>)d.b;
        d.signed_sum = x |+| y;
        d.signed_difference = x |-| y;
        d.narrow_sum = 12w0xf80 |+| (bit<12>)d.a;
        d.narrow_difference = -12s2000 |-| (int<12>)y;
    }
}

#include "frame/one_header.p4"
