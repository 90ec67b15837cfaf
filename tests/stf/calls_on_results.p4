// Members of results, results as arguments of the same function, headers chosen by ?: and indexed results.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> x;
    bit<8> y;
}

header cell_t {
    bit<8> v;
}

header data_t {
    bit<8> a;
    bit<8> member;
    bit<8> twice;
    bit<8> chosen;
    bit<8> element;
}

pair_t f(in bit<8> a) {
    return { a, a + 1 };
}

tuple<bit<8>, bit<8>> g(in bit<8> a) {
    return { a * 2, a * 3 };
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.member = f(d.a).y;
        d.twice = f(f(f(d.a).y).y).x;
        cell_t one = { 1 };
        cell_t none;
        cell_t chosen = d.a == 1 ? one : none;
        d.chosen = chosen.isValid() ? 8w1 : 2;
        d.element = g(d.a)[1] - g(d.a)[0];
    }
}

#include "frame/one_header.p4"
