// setValid of a valid header keeps its fields, of an invalid one zeroes them; invalid ones are compared and
// copied.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> kept;
    bit<8> zeroed;
    bit<8> flags;
}

header small_t {
    bit<8> x;
    bit<8> y;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    small_t h;
    small_t g;
    small_t k;

    apply {
        h.setValid();
        h.x = d.a;
        h.setValid();
        d.kept = h.x;
        h.setInvalid();
        h.setValid();
        d.zeroed = h.x + h.y;
        h.x = d.a;
        g = h;
        bit<8> flags = g.isValid() && g.x == d.a ? 8w1 : 0;
        g = k;
        flags = flags | (g.isValid() ? 8w2 : 0);
        // Two invalid headers are equal whatever they held; a valid one differs from an invalid one.
        flags = flags | (g == k ? 8w4 : 0) | (g == h ? 8w8 : 0) | (h != k ? 8w0x10 : 0);
        g = { d.a, 1 };
        flags = flags | (g.isValid() ? 8w0x20 : 0) | (g == h ? 8w0x40 : 0);
        h.y = 1;
        flags = flags | (g == h ? 8w0x80 : 0);
        d.flags = flags;
    }
}

#include "frame/one_header.p4"
