// Structs and headers as out parameters are new in the callee; the caller keeps what the callee leaves, also after
// an early return.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> x;
    bit<8> y;
    bit<8> valid;
}

header h_t {
    bit<8> v;
}

struct s_t {
    bit<8> x;
    bit<8> y;
    h_t    h;
}

void fill(in bit<8> a, out s_t s) {
    s.x = a;
    if (a == 0) {
        return;
    }
    s.y = s.x + s.y;
    s.h = { a };
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        s_t s;
        s.x = 0x55;
        s.y = 0x66;
        s.h = { 9 };
        fill(d.a, s);
        d.x = s.x;
        d.y = s.y;
        d.valid = s.h.isValid() ? s.h.v : 8w0xff;
    }
}

#include "frame/one_header.p4"
