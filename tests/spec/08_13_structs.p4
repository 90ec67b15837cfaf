// Section 8.13: values of structs by field names: in comparisons, assignments, arguments, and as what a field is taken of; in any
// order.

#include <core.p4>
#include <v1model.p4>

struct S {
    bit<32> a;
    bit<32> b;
}

header H {
    bit<8> x;
    bit<8> y;
}

header data_t {
    bit<32> a;
    bit<32> b;
    bit<8>  equal;
    bit<32> field;
    bit<8>  valid;
    bit<32> rest;
    bit<32> sum;
}

bit<32> sum(in S s) {
    return s.a + 2 * s.b;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        S s;
        s = { b = d.b, a = d.a };
        d.equal = s == (S) { a = 1, b = 2 } ? 8w1 : 2;
        d.field = ((S) { b = 5, a = d.a }).a;
        H h = { y = 1, x = 2 };
        d.valid = h.isValid() ? h.x ++ h.y == 16w0x0201 ? 8w1 : 2 : 3;
        S t = { b = 7, ... };
        d.rest = t.a + t.b;
        d.sum = sum({ b = 3, a = 4 });
    }
}

#include "../stf/frame/one_header.p4"
