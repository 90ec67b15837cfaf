// Section 8.25: what must not change although a header is invalid or an index is too large: all that has a value. Types without
// content need no value.

#include <core.p4>
#include <v1model.p4>

struct empty_t {
    tuple<> t;
}

header item_t {
    bit<8> x;
}

header data_t {
    bit<8> i;
    bit<8> kept;
    bit<8> validity;
    bit<8> s0;
    bit<8> s1;
    bit<8> equal;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        item_t none;
        item_t[2] s;
        bit<8> kept = 0x77;
        s[0] = { 0x10 };
        s[1] = { 0x20 };
        none.x = 5;             //~ W0020
        s[d.i].x = 0x30;
        if (d.i == 5) {
            s[d.i].setInvalid();
        }
        d.kept = kept;
        d.validity = (none.isValid() ? 8w1 : 0) + (s[0].isValid() ? 8w2 : 0) + (s[1].isValid() ? 8w4 : 0);
        d.s0 = s[0].x;
        d.s1 = s[1].x;
        empty_t e;
        empty_t f;
        d.equal = e == f ? 8w1 : 2;
    }
}

#include "../stf/frame/one_header.p4"
