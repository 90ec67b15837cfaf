// Concatenation takes the signedness of its left side; shifts by amounts wider than the value.

#include <core.p4>
#include <v1model.p4>

header data_t {
    int<4>   a;
    int<4>   b;
    bit<72>  far;
    bit<16>  extended;
    bit<16>  unsigned_first;
    bit<72>  left;
    bit<8>   right;
    int<128> top;
    bit<1>   less;
    bit<7>   zero;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.extended = (bit<16>)(int<16>)(d.a ++ d.b);
        d.unsigned_first = (bit<16>)((bit<4>)d.a ++ (bit<4>)d.b);
        d.left = 72w1 << d.far;
        d.right = 8w0x80 >> d.far;
        d.top = d.top |+| ((int<128>)d.a << 123);
        d.less = (bit<1>)(d.top < 0);
    }
}

#include "frame/one_header.p4"
