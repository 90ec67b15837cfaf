// Section 8.12: tuples: initialised, assigned, compared, passed, read by index; they initialise structs and headers, with and
// without their name.

#include <core.p4>
#include <v1model.p4>

struct S {
    bit<32> a;
    bit<32> b;
}

const S X = { 10, 20 };

struct learned_t {
    bit<48> src;
    bit<32> ip;
}

header data_t {
    bit<32> first;
    bit<8>  flag;
    bit<32> constant;
    bit<32> argument;
    bit<8>  equal;
    bit<8>  element;
}

header pair_t {
    bit<8> a;
    bit<8> b;
}

bit<32> f(in S data) {
    return data.a - data.b;
}

T same<T>(in T data) {
    return data;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        tuple<bit<32>, bool> x = { 10, false };
        tuple<bit<32>, bool> y = x;
        d.first = x[0];
        d.flag = y[1] ? 8w1 : 2;
        d.constant = X.a + X.b;
        d.argument = f({ 30, 20 }) + same((S) { 10, 20 }).b;
        tuple<bit<32>, bool> z = { d.first, true };
        d.equal = (x == y ? 8w1 : 0) + (x != z ? 8w2 : 0) + ({ d.first, true } == z ? 8w4 : 0);
        tuple<tuple<bit<8>, bit<8>>, pair_t> nested = { { 1, 2 }, { 3, 4 } };
        pair_t h = { 5, nested[0][1] };
        d.element = h.b + nested[1].a;
        digest<learned_t>(1, { 48w1, d.first });
    }
}

#include "../stf/frame/one_header.p4"
