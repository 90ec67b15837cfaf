// Tuples: building, indexing, comparing, as arguments.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  a;
    bit<16> b;
    bit<8>  first;
    bit<16> second;
    bit<8>  nested;
    bit<8>  equal;
    bit<8>  assigned;
}

bit<8> low_of(in tuple<bit<8>, bit<16>> t) {
    return t[0] + (bit<8>)t[1];
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        tuple<bit<8>, bit<16>> t = { d.a, d.b };
        d.first = t[0];
        d.second = t[1];
        tuple<bool, tuple<bit<8>, bit<16>>> n = { true, t };
        d.nested = n[1][0] + (n[0] ? 8w1 : 8w0);
        d.equal = (bit<8>)(bit<1>)(t == { 8w1, 16w2 });
        t = { t[0] + 1, t[1] };
        d.assigned = low_of(t) + low_of({ 0x10, 0x20 });
    }
}

#include "frame/one_header.p4"
