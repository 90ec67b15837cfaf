// Where constants and serialisable enums become what they are assigned to or combined with.

#include <core.p4>
#include <v1model.p4>

enum bit<16> Kind {
    First = 0x101,
    Second = 0x102
}

enum bit<8> Narrow {
    One = 1,
    Two = 2
}

bit<4> low(in bit<4> x) {
    return x + 15;
}

header data_t {
    bit<8> a;
    bit<8> minus_one;
    bit<16> enum_value;
    bit<8> sum;
    bit<1> equal;
    int<8> signed;
    bit<8> shifted;
    bit<16> concat;
    bit<8> mixed;
    bit<4> argument;
    bit<3> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.minus_one = 8w0 - 1;
        d.enum_value = Kind.Second;
        d.sum = d.a + 3;
        d.equal = d.a == 0xff ? 1w1 : 0;
        d.signed = -128;
        d.shifted = 8w1 << d.a[2:0];
        d.concat = d.a ++ (bit<8>) Narrow.Two;
        d.mixed = 5 - d.a;
        d.argument = low(15);
    }
}

#include "frame/one_header.p4"
