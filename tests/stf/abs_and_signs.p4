// int<W> arithmetic as programs use it: absolute values, averages, clamping, sign by shift and slice, mixed with
// bit by casts.

#include <core.p4>
#include <v1model.p4>

header data_t {
    int<16> a;
    int<16> b;
    int<16> absolute;
    int<16> average;
    int<8>  clamped;
    bit<8>  sign;
    bit<16> distance;
    int<32> product;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.absolute = d.a < 0 ? -d.a : d.a;
        d.average = (int<16>) (((int<17>) d.a + (int<17>) d.b) >> 1);
        d.clamped = d.a > 127 ? 8s127 : d.a < -128 ? -128 : (int<8>) d.a;
        d.sign = ((bit<16>) (d.a >> 15))[7:0] | (bit<8>) ((bit<16>) d.b)[15:15];
        d.distance = d.a > d.b ? (bit<16>) (d.a - d.b) : (bit<16>) (d.b - d.a);
        d.product = (int<32>) d.a * (int<32>) d.b;
    }
}

#include "frame/one_header.p4"
