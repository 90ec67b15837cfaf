// Section 8.16: structs: fields, assignment, comparison, and three ways to initialise them.

#include <core.p4>
#include <v1model.p4>

struct S {
    bit<32> a;
    bit<32> b;
}

struct nested_t {
    S      s;
    bit<8> c;
}

const S X1 = { 10, 20 };
const S X2 = { a = 10, b = 20 };
const S X3 = (S) { a = 10, b = 20 };

header data_t {
    bit<32> a;
    bit<8>  same;
    bit<8>  copied;
    bit<8>  nested;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.same = X1 == X2 && X2 == X3 && X1.a != X3.b ? 8w1 : 2;
        S s = X1;
        S t = s;
        s.a = d.a;
        d.copied = t == X1 && s != t ? 8w1 : 2;
        nested_t n = { s, 5 };
        nested_t m = n;
        m.s.b = 21;
        d.nested = (n == m ? 8w1 : 0) + (n.s == s ? 8w2 : 0) + (m.s.b == 21 ? 8w4 : 0);
    }
}

#include "../stf/frame/one_header.p4"
