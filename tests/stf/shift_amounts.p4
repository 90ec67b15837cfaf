// The amount of a shift may be wider than the value, and wider than 64 bits: nothing of it is cut off.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    int<8> s;
    bit<65> b65;
    bit<128> b128;
    bit<1> b1;
    bit<256> big;
    bit<8> l65;
    bit<8> r128;
    int<8> s128;
    bit<8> l1;
    bit<256> big_by_small;
    bit<8> small_by_big;
    bit<6> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.l65 = d.a << d.b65;
        d.r128 = d.a >> d.b128;
        d.s128 = d.s >> d.b128;
        d.l1 = d.a << d.b1;
        d.big_by_small = d.big >> d.a;
        d.small_by_big = d.a << d.big;
    }
}

#include "frame/one_header.p4"
