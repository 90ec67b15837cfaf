// Section 10: a function that returns the larger of two numbers; one without a result, which returns early.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<32> left;
    bit<32> right;
    bit<32> larger;
    bit<8>  early;
}

bit<32> max(in bit<32> left, in bit<32> right) {
    return (left > right) ? left : right;
}

void early(in bit<32> x, inout bit<8> result) {
    if (x == 0) {
        return;
    }
    result = 1;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.larger = max(d.left, d.right);
        early(d.left, d.early);
    }
}

#include "../stf/frame/one_header.p4"
