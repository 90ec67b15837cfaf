// `...` gives what is not named its default: zero, false, invalid; for structs, headers and tuples.

#include <core.p4>
#include <v1model.p4>

struct in_t {
    bit<8> y;
    bool   z;
}

struct all_t {
    bit<8> x;
    in_t   inner;
}

header tiny_t {
    bit<8> u;
    bit<8> v;
}

header data_t {
    bit<8> a;
    bit<8> whole;
    bit<8> part;
    bit<8> flag;
    bit<8> header_valid;
    bit<8> header_field;
    bit<8> invalid;
    bit<8> tuple_rest;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        all_t all = ...;
        d.whole = all.x + all.inner.y;
        all_t some = { x = d.a, ... };
        d.part = some.x + some.inner.y;
        d.flag = some.inner.z ? 8w1 : 0;
        tiny_t h = { u = d.a, ... };
        d.header_valid = h.isValid() ? 8w1 : 0;
        d.header_field = h.v + h.u;
        h = (tiny_t) {#};
        d.invalid = h.isValid() ? 8w1 : 0;
        tuple<bit<8>, bit<8>> t = { d.a, ... };
        d.tuple_rest = t[0] - t[1];
    }
}

#include "frame/one_header.p4"
