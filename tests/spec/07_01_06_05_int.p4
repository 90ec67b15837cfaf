// Section 7.1.6.5: constants of type int have no bounds and no width; used with a width they get it.

#include <core.p4>
#include <v1model.p4>

const int a = 5;
const int b = 2 * a;
const int c = b - a + 3;
const int huge = 1 << 200;
const int back = huge >> 196;

header data_t {
    bit<8> c_;
    bit<8> back_;
    bit<8> parameter;
    bit<8> negative;
}

control Add(inout bit<8> x)(int n) {
    apply {
        x = x + (bit<8>) n;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Add(b - c) add;

    apply {
        d.c_ = c;
        d.back_ = back;
        add.apply(d.parameter);
        d.negative = (bit<8>) (int<8>) (a - b);
    }
}

#include "../stf/frame/one_header.p4"
