// Tuples in tuples and in structs, indexed by constants, as results, compared with lists.

#include <core.p4>
#include <v1model.p4>

struct holder_t {
    tuple<bit<8>, bit<8>> pair;
    bit<8>                count;
}

tuple<bit<8>, bit<8>> turned(in tuple<bit<8>, bit<8>> t) {
    return { t[1], t[0] };
}

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> first;
    bit<8> nested;
    bit<8> member;
    bit<8> equal;
    bit<8> computed;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        tuple<bit<8>, tuple<bit<8>, bool>> t = { d.a, { d.b, d.a < d.b } };
        d.first = t[0];
        d.nested = t[1][0] + (t[1][1] ? 8w0x10 : 0);
        holder_t h;
        h.pair = { d.b, d.a };
        h.count = 2;
        d.member = h.pair[1] - h.pair[0];
        d.equal = h.pair == { d.a, d.b } ? 8w1 : 0;
        d.computed = turned(h.pair)[2 - 1] + h.count;
    }
}

#include "frame/one_header.p4"
