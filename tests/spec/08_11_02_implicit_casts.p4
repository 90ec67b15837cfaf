// Section 8.11.2: numbers without a width take that of the other operand, enums become their numbers; not the amount of a shift.

#include <core.p4>
#include <v1model.p4>

enum bit<8> E { a = 5 }

header data_t {
    bit<8>  x;
    bit<16> y;
    int<8>  z;
    bit<8>  sum;
    bit<8>  negative;
    bit<8>  or_;
    bit<8>  with_enum;
    bit<8>  shifted;
    bit<16> by_enum;
    bit<8>  sliced;
    bit<16> joined;
    bit<8>  element;
}

header item_t {
    bit<8> v;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum = d.x + 1;
        d.negative = d.z < 0 ? 8w1 : 2;
        d.or_ = d.x | 0xFFF;    //~ W0002
        d.with_enum = d.x + E.a;
        d.shifted = d.x << 256; //~ W0027
        d.by_enum = 16w11 << E.a;
        d.sliced = 0;
        d.sliced[5:0] = d.x[E.a:0];
        d.joined = E.a ++ 8w0;
        item_t[6] s;
        s[5] = { 0x77 };
        d.element = s[E.a].v;
    }
}

#include "../stf/frame/one_header.p4"
