// Headers made from lists and named members, chosen by ?:, invalid ones by {#}, as arguments, results and stack
// elements.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> x;
    bit<8> y;
    bit<8> valid;
    bit<8> element;
}

header h_t {
    bit<8> x;
    bit<8> y;
}

h_t make(in bit<8> a) {
    return { y = a + 1, x = a };
}

bit<8> sum(in h_t h) {
    if (h.isValid()) {
        return h.x + h.y;
    }
    return 0xee;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    h_t[2] s;

    apply {
        h_t h = make(d.a);
        d.x = h.x;
        d.y = h.y + sum({ d.a, 1 });
        h_t none = {#};
        h = d.a > 4 ? h : none;
        d.valid = sum(h);
        s[0] = { 3, 4 };
        s[1] = make(s[0].x);
        s[0] = {#};
        d.element = (s[0].isValid() ? 8w0x80 : 0) + s[1].x * s[1].y;
    }
}

#include "frame/one_header.p4"
