// Casts: bit<W> grows with zeros, int<W> with its sign, both shrink by losing their upper bits.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  a;
    bit<16> unsigned_wider;
    int<16> signed_wider;
    bit<16> sign_extended;
    bit<16> wider_then_signed;
    bit<4>  low;
    int<4>  signed_low;
    bit<8>  low_again;
    bit<1>  flag;
    bit<1>  unflag;
    bit<6>  zero;
    bit<8>  from_constant;
    int<8>  from_negative;
}

typedef bit<4> nibble_t;
type bit<8> opaque_t;

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.unsigned_wider = (bit<16>)d.a;
        d.signed_wider = (int<16>)(int<8>)d.a;
        d.sign_extended = (bit<16>)(int<16>)(int<8>)d.a;
        d.wider_then_signed = (bit<16>)(int<16>)(bit<16>)d.a;
        d.low = (nibble_t)d.a;
        d.signed_low = (int<4>)(int<8>)d.a;
        opaque_t hidden = (opaque_t)d.a;
        d.low_again = (bit<8>)(int<8>)(int<4>)(bit<4>)(bit<8>)hidden;
        bool flag = (bool)d.a[7:7];
        d.flag = (bit<1>)flag;
        d.unflag = (bit<1>)!flag;
        d.from_constant = (bit<8>)0x5fe;
        d.from_negative = (int<8>)(-3);
    }
}

#include "frame/one_header.p4"
