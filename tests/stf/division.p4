// Division and modulo at run time, up to 128 bits; by zero both give zero here.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>   a;
    bit<8>   b;
    bit<8>   quotient;
    bit<8>   remainder;
    bit<128> wide_a;
    bit<128> wide_b;
    bit<128> wide_quotient;
    bit<128> wide_remainder;
    bit<72>  odd;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.quotient = d.a / d.b;
        d.remainder = d.a % d.b;
        d.wide_quotient = d.wide_a / d.wide_b;
        d.wide_remainder = d.wide_a % d.wide_b;
        d.odd = d.odd / 10;
    }
}

#include "frame/one_header.p4"
