// Operators bind as the grammar says: &, ^ and | tighter than comparisons, unlike in C; - to the left, ?: to the
// right.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> mul_add;
    bit<8> shift_add;
    bit<8> and_equal;
    bit<8> or_xor_and;
    bit<8> minus_minus;
    bit<8> not_add;
    bit<8> choose;
    bit<8> cast_add;
    bit<8> logic;
    bit<8> compare_shift;
    bit<8> saturate;
    bit<8> unary;
    bit<8> bang;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.mul_add = d.a + d.b * d.c - d.a / 3;
        d.shift_add = d.a << 1 + 1;
        d.and_equal = d.a & d.b == d.c ? 8w1 : 2;
        d.or_xor_and = d.a | d.b ^ d.c & d.a;
        d.minus_minus = d.a - d.b - d.c;
        d.not_add = ~d.a + -d.b;
        d.choose = d.a == 1 ? 8w10 : d.b == 1 ? 8w20 : d.c == 1 ? 8w30 : 40;
        d.cast_add = (bit<8>) d.a[3:0] + d.b;
        d.logic = d.a == 0 || d.b == 0 && d.c == 0 ? 8w1 : 0;
        d.compare_shift = d.a >> 1 < d.b << 1 ? 8w1 : 0;
        d.saturate = d.a |+| d.b |-| d.c;
        d.unary = ~-d.a;
        d.bang = !(d.a == d.b) == (d.c == 1) ? 8w1 : 0;
    }
}

#include "frame/one_header.p4"
