// Section 6.9: a name means the nearest declaration around it, a name with a dot the one at the top.

#include <core.p4>
#include <v1model.p4>

const bit<8> x = 2;
const bit<4> y = 1;

header data_t {
    bit<8> local;
    bit<8> top;
    bit<8> sum;
    bit<8> shadow;
}

control Inner(inout data_t d) {
    int<8> x = 0;
    const bit<8> y = 8;
    const bit<4> z = .y;
    const bit<8> own = y;

    apply {
        x = x + (int<8>) .x;
        d.local = (bit<8>) x;
        d.top = .x;
        d.sum = (bit<8>) z + own;
        {
            bit<16> x = 5;      //~ W0001
            d.shadow = x[7:0] + .x;
        }
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Inner() inner;

    apply {
        inner.apply(d);
        d.local = d.local + x;
    }
}

#include "../stf/frame/one_header.p4"
