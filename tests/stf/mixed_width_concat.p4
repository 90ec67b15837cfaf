// Concatenation of many widths, signed operands, and slices of a concatenation.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<3>  a;
    bit<5>  b;
    int<8>  s;
    bit<16> joined;
    bit<16> signed_first;
    bit<8>  middle;
    int<16> is_signed;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.joined = d.b ++ d.a ++ 8w0x5a;
        d.signed_first = (bit<16>) (d.s ++ (bit<8>) d.s);
        d.middle = (d.a ++ d.b ++ (bit<8>) d.s)[11:4];
        // The type of the left operand decides about the sign of the whole.
        d.is_signed = (int<16>) (int<24>) (d.s ++ 8w0) >> 4;
    }
}

#include "frame/one_header.p4"
