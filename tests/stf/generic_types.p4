// Generic headers and structs with types given where they are used, nested in each other.

#include <core.p4>
#include <v1model.p4>

header pair_h<T> {
    T      x;
    bit<8> y;
}

struct both_t<A, B> {
    A a;
    B b;
}

header data_t {
    bit<8>  a;
    bit<16> b;
    bit<8>  r;
    bit<16> s;
    bit<8>  valid;
}

both_t<B, A> swap<A, B>(in both_t<A, B> x) {
    return { x.b, x.a };
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        pair_h<bit<16>> h;
        h.setValid();
        h.x = d.b;
        both_t<bit<8>, pair_h<bit<8>>> p;
        p.a = d.a;
        p.b = { 1, 2 };
        d.r = h.x[7:0] + p.a + p.b.y;
        both_t<bit<8>, bit<16>> q = { d.a, d.b };
        both_t<bit<16>, bit<8>> r = swap(q);
        d.s = r.a + (bit<16>) r.b;
        d.valid = (p.b.isValid() ? 8w1 : 0) + (bit<8>) h.minSizeInBytes();
    }
}

#include "frame/one_header.p4"
