// Comparisons follow the signedness of their operands; booleans combine with !, &&, || and ==.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<1> less;
    bit<1> less_or_equal;
    bit<1> greater;
    bit<1> greater_or_equal;
    bit<1> equal;
    bit<1> different;
    bit<1> signed_less;
    bit<1> signed_greater_or_equal;
    bit<1> both_even;
    bit<1> one_even;
    bit<6> zero;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.less = (bit<1>)(d.a < d.b);
        d.less_or_equal = (bit<1>)(d.a <= d.b);
        d.greater = (bit<1>)(d.a > d.b);
        d.greater_or_equal = (bit<1>)(d.a >= d.b);
        d.equal = (bit<1>)(d.a == d.b);
        d.different = (bit<1>)(d.a != d.b);
        int<8> x = (int<8>)d.a;
        int<8> y = (int<8>)d.b;
        d.signed_less = (bit<1>)(x < y);
        d.signed_greater_or_equal = (bit<1>)(x >= y);
        bool a_even = d.a[0:0] == 0;
        bool b_even = !(bool)d.b[0:0];
        d.both_even = (bit<1>)(a_even && b_even);
        d.one_even = (bit<1>)(a_even != b_even);
    }
}

#include "frame/one_header.p4"
