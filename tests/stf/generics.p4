// Generic structs and functions, with types given or inferred.

#include <core.p4>
#include <v1model.p4>

struct pair_t<A, B> {
    A first;
    B second;
}

header data_t {
    bit<8>  a;
    bit<16> b;
    bit<8>  narrow;
    bit<16> wide;
    bit<8>  summed;
}

pair_t<B, A> turn<A, B>(in pair_t<A, B> p) {
    return { p.second, p.first };
}

void store<T>(out T target, in T value) {
    target = value;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        pair_t<bit<8>, bit<16>> p = { d.a, d.b };
        pair_t<bit<16>, bit<8>> q = turn(p);
        store(d.narrow, q.second + 1);
        store<bit<16>>(d.wide, q.first + 1);
        pair_t<pair_t<bit<8>, bit<8>>, bool> nested = { { 1, d.a }, true };
        if (nested.second) {
            d.summed = nested.first.first + nested.first.second;
        }
    }
}

#include "frame/one_header.p4"
