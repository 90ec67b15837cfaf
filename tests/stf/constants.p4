// Constants of every kind, computed at compile time: bit, int, bool, struct, tuple, list, from other constants.

#include <core.p4>
#include <v1model.p4>

struct point_t {
    bit<8> x;
    bit<8> y;
}

enum bit<8> Colour {
    Red = 2,
    Green = 4
}

const bit<8> OUTER = 6 * 7;
const point_t POINT = { 7, 3 };
const tuple<bit<8>, bit<16>> PAIR = { 1, 0xbeef };
const bool YES = 3 > 2;
const bool NO = 3 != 3;
const bit<64> JOINED = 32w0x12345678 ++ 32w0x9abcdef0;
const int<8> NEGATIVE = -8s7 + 4;
const bit<128> BIG = 1 << 127;
const Colour COLOUR = Colour.Green;

header data_t {
    bit<8>  a;
    bit<8>  from_struct;
    bit<16> from_tuple;
    bit<8>  from_bool;
    bit<64> from_concat;
    bit<8>  from_slice;
    bit<8>  from_signed;
    bit<8>  from_choice;
    bit<8>  from_shift;
    bit<8>  from_division;
    bit<8>  from_enum;
    bit<8>  saturated;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    const bit<8> INNER = OUTER + 1;

    apply {
        d.from_struct = POINT.x + POINT.y * d.a;
        d.from_tuple = PAIR[1];
        d.from_bool = YES && !NO ? 8w1 : 0;
        d.from_concat = JOINED;
        d.from_slice = JOINED[39:32];
        d.from_signed = (bit<8>) NEGATIVE;
        d.from_choice = INNER;
        d.from_shift = (bit<8>) (BIG >> 127);
        d.from_division = 8w200 / 7 % 5;
        d.from_enum = (bit<8>) COLOUR;
        d.saturated = 8w200 |+| 8w100 |-| 8w5;
    }
}

#include "frame/one_header.p4"
