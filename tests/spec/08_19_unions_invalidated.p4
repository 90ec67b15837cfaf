// Section 8.19: `setInvalid` of any member, and an invalid header assigned to any member, make a valid union invalid; so does an
// invalid union. Unions are equal if the same members are valid and equal.

#include <core.p4>
#include <v1model.p4>

header H1 {
    bit<8> f;
}

header H2 {
    bit<16> g;
}

header_union U {
    H1 h1;
    H2 h2;
}

header data_t {
    bit<8> op;
    bit<8> valid;
    bit<8> equal;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        U u;
        U v;
        H1 none;
        u.h1 = { 3 };
        v.h1 = { 3 };
        switch (d.op) {
            1: { u.h1.setInvalid(); }
            2: { u.h2.setInvalid(); }
            3: { u.h1 = none; }
            4: { v.h2 = {#}; }
            5: { u = (U) {#}; }
            6: { U empty; u = empty; }
            7: { v.h1.f = 4; }
            8: { v.h2 = { 3 }; }
            9: { u.h1.setInvalid(); v.h2.setInvalid(); }
        }
        d.valid = (u.isValid() ? 8w1 : 0) + (v.isValid() ? 8w2 : 0);
        d.equal = u == v ? 8w1 : 0;
    }
}

#include "../stf/frame/one_header.p4"
