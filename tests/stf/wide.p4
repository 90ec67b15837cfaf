// Operations on values of more than 64 bits.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<128> a;
    bit<128> b;
    bit<128> sum;
    bit<128> difference;
    bit<128> product;
    bit<128> left;
    bit<128> right;
    bit<96>  across;
    bit<72>  odd;
    bit<8>   distance;
    bit<1>   less;
    bit<1>   equal;
    bit<1>   signed_less;
    bit<5>   zero;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum = d.a + d.b;
        d.difference = d.a - d.b;
        d.product = d.a * d.b;
        d.left = d.a << d.distance;
        d.right = d.a >> d.distance;
        d.across = d.a[111:16];
        d.odd = d.a[71:0] ^ ~d.b[127:56];
        d.less = (bit<1>)(d.a < d.b);
        d.equal = d.a == d.b ? 1w1 : 1w0;
        d.signed_less = (bit<1>)((int<128>)d.a < (int<128>)d.b);
        d.b[100:30] = d.a[70:0];
    }
}

#include "frame/one_header.p4"
