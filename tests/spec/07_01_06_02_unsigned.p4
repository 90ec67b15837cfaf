// Section 7.1.6.2: widths that are numbers or expressions in parentheses; `bit` has one bit, and a width of 0 has the value 0
// only.

#include <core.p4>
#include <v1model.p4>

const bit<32> x = 10;
const bit<(x + 2)> y = 15;

header data_t {
    bit<16> padded;
    bit<8>  constant;
    bit     one;
    bit<7>  rest;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<(x + 2)> twelve = 0xfff;
        bit<0> nothing = 0;
        d.padded = 4w5 ++ (twelve + 2);
        d.constant = (bit<8>) y + (bit<8>) nothing;
        bit one = 1;
        d.one = one + 1;
        bit<128> wide = 1;
        wide = wide << 127;
        d.rest = (bit<7>) wide[127:127];
    }
}

#include "../stf/frame/one_header.p4"
