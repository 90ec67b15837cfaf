// Integer literals, compile-time arithmetic of unlimited precision, and constants.

#include <core.p4>
#include <v1model.p4>

const bit<32> NUMBER = 0xdead_beef;
const int BIG = 1 << 100;
const int DOWN = (BIG - 1) >> 92;
const bit<8> FROM_BIG = (bit<8>)DOWN;

header data_t {
    bit<8>  decimal;
    bit<8>  octal;
    bit<8>  binary;
    bit<16> hex;
    int<8>  negative;
    bit<32> constant;
    bit<8>  from_big;
    bit<8>  division;
    bit<8>  modulo;
    bit<8>  mixed;
    bit<8>  max;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.decimal = 8w2_00;
        d.octal = 0o17;
        d.binary = 0b1010_0101;
        d.hex = 16w0xAbCd;
        d.negative = -8s5;
        d.constant = NUMBER;
        d.from_big = FROM_BIG;
        d.division = BIG / (1 << 98) + 100 / 7;
        d.modulo = 1000 % 7;
        d.mixed = d.modulo + 3 * 5;
        d.max = -1 + d.mixed - d.mixed;
    }
}

#include "frame/one_header.p4"
