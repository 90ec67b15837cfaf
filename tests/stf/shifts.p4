// Right shifts of bit<W> bring in zeros, of int<W> copies of the sign; a shift by the width or more moves everything out.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> value;
    bit<8>  distance;
    bit<16> left;
    bit<16> right;
    int<16> signed_left;
    int<16> signed_right;
    bit<16> left_by_constant;
    int<16> right_by_constant;
    bit<16> left_out;
    int<16> right_out;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        int<16> s = (int<16>)d.value;
        d.left = d.value << d.distance;
        d.right = d.value >> d.distance;
        d.signed_left = s << d.distance;
        d.signed_right = s >> d.distance;
        d.left_by_constant = d.value << 3;
        d.right_by_constant = s >> 3;
        d.left_out = d.value << 16;
        d.right_out = s >> 20;
    }
}

#include "frame/one_header.p4"
