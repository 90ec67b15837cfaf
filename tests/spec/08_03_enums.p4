// Section 8.3: enums with an underlying type: casts both ways, implicit ones to the number, values without and with two names.

#include <core.p4>
#include <v1model.p4>

enum X { v1, v2, v3 }

enum bit<8> E { e1 = 0, e2 = 1, e3 = 2 }

enum bit<8> NonUnique { b1 = 0, b2 = 1, b3 = 1, b4 = 2 }

enum bit<8> Other { e1 = 10, e2 = 11, e3 = 12 }

enum bit<2> Partial { A = 2w0, B = 2w1, C = 2w2 }

header data_t {
    E       field;
    bit<8>  cast;
    bit<8>  back;
    bit<8>  implicit;
    bit<8>  shifted;
    bit<8>  unique;
    bit<8>  sums;
    bit<8>  mixed;
    bit<8>  partial;
    bit<8>  unnamed;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        E a = E.e2;
        E b;
        d.cast = (bit<8>) a;
        b = (E) d.cast;
        d.back = b == E.e2 ? 8w1 : 2;
        d.implicit = E.e3;
        d.shifted = a << 3;
        d.unique = NonUnique.b2 == NonUnique.b3 && NonUnique.b1 != NonUnique.b4 ? 8w1 : 2;
        a = (E) (E.e2 + 1);
        Other o = Other.e2;
        b = (E) (Other.e1 + Other.e2);
        d.sums = (bit<8>) b;
        d.mixed = a + o + (a > o ? 8w0x80 : 0);
        Partial p = (Partial) ((bit<8>) d.field)[1:0];
        if (p == Partial.A) {
            d.partial = 0xa;
        } else if (p == Partial.B) {
            d.partial = 0xb;
        } else if (p == Partial.C) {
            d.partial = 0xc;
        } else {
            d.partial = 0xd;
        }
        E unnamed = (E) 8w5;
        X x = X.v3;
        d.unnamed = unnamed == E.e1 || unnamed == E.e2 || unnamed == E.e3 || x == X.v1 ? 8w1 : (bit<8>) unnamed;
    }
}

#include "../stf/frame/one_header.p4"
