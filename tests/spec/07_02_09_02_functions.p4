// Section 7.2.9.2: a function with results by `out`, and one that returns a sum.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  limit;
    bit<8>  in_range;
    bit<32> sum;
}

void draw(in bit<8> limit, out bit<32> value) {
    bit<8> v;
    random(v, 0, limit);
    value = (bit<32>) v;
}

bit<32> add(in bit<32> left, in bit<32> right) {
    return left + right;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<32> drawn;
        draw(d.limit, drawn);
        d.in_range = drawn <= (bit<32>) d.limit ? 8w1 : 2;
        d.sum = add(d.sum, add(1, 2));
    }
}

#include "../stf/frame/one_header.p4"
