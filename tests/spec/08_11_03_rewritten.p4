// Section 8.11.3: what operands of different widths and signs are written as.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  x;
    bit<16> y;
    int<8>  z;
    bit<16> widened;
    bit<8>  narrowed;
    int<8>  as_signed;
    bit<8>  as_unsigned;
    int<8>  by_bits;
    int<8>  by_signed;
    bit<16> all_unsigned;
    int<16> all_signed;
    bit<8>  shift;
    bit<8>  less;
    bit<8>  complement;
    bit<8>  and_;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.widened = (bit<16>) d.x + d.y;
        d.narrowed = d.x + (bit<8>) d.y;
        d.as_signed = (int<8>) d.x + d.z;
        d.as_unsigned = d.x + (bit<8>) d.z;
        d.by_bits = (int<8>) (bit<8>) d.y;
        d.by_signed = (int<8>) (int<16>) d.y;
        d.all_unsigned = d.y + (bit<16>) (bit<8>) d.z;
        d.all_signed = (int<16>) d.y + (int<16>) d.z;
        d.shift = d.x << (bit<8>) d.z;
        d.less = (d.x < (bit<8>) d.z ? 8w1 : 0) + ((int<8>) d.x < d.z ? 8w2 : 0);
        d.complement = (~32w1)[7:0];
        d.and_ = (32w5 & -3)[7:0];
    }
}

#include "../stf/frame/one_header.p4"
