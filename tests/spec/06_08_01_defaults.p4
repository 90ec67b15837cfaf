// Section 6.8.1: parameters with default values, by position and by name; parameters without direction in functions' place,
// actions.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> all;
    bit<8> named;
    bit<8> positions;
    bit<8> action_;
}

bit<8> f(in bit<8> a, in bit<8> b = 2, in bit<8> c) {
    return a * 16 + b * 4 + c;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(inout bit<8> x, bit<8> by) {
        x = x + by;
    }

    apply {
        d.all = f(a = 1, b = 3, c = 3);
        d.named = f(c = 3, a = 1);
        d.positions = f(1, 2, 3);
        set(d.action_, d.all);
    }
}

#include "../stf/frame/one_header.p4"
