// Section 8: precedence: unary, casts, products, sums and `++`, shifts, `&`, `^`, `|`, comparisons, equality, `&&`, `||`, `?:`.
// Unlike in C bitwise operators bind tighter than comparisons.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  a;
    bit<8>  b;
    bit<8>  r0;
    bit<8>  r1;
    bit<8>  r2;
    bit<8>  r3;
    bit<16> r4;
    bit<8>  r5;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.r0 = d.a + d.b * 2;
        d.r1 = d.a << 1 + 1;
        d.r2 = d.a & 6 == 6 ? 8w1 : 2;
        d.r3 = d.a | d.b ^ d.a & d.b;
        d.r4 = d.a ++ d.b + 16w1;
        d.r5 = -d.a[3:0] + ~d.b[3:0] ++ 4w0 > 0x10 || d.a == 0 && d.b != 0 ? 8w1 : 2;
    }
}

#include "../stf/frame/one_header.p4"
