// Enums: plain ones compare and assign, serialisable ones are their numbers in a packet, also numbers without a name.

#include <core.p4>
#include <v1model.p4>

enum Plain {
    First,
    Second,
    Third
}

enum bit<16> Kind {
    Ipv4 = 0x0800,
    Ipv6 = 0x86dd,
    Same = 0x800
}

enum int<8> Signed {
    Minus = -1,
    Zero = 0
}

header data_t {
    Kind    kind;
    Kind    written;
    bit<16> number;
    bit<8>  plain;
    bit<8>  same;
    Signed  sign;
    bit<8>  unknown;
}

Plain plain_of(in Kind k) {
    if (k == Kind.Ipv4) {
        return Plain.Second;
    } else if (k == Kind.Ipv6) {
        return Plain.Third;
    }
    return Plain.First;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        Plain p = plain_of(d.kind);
        if (p == Plain.Second) {
            d.plain = 2;
        } else if (p != Plain.First) {
            d.plain = 3;
        }
        d.number = (bit<16>)d.kind + 1;
        d.same = d.kind == Kind.Same ? 8w1 : 0;
        d.unknown = d.kind == Kind.Ipv4 || d.kind == Kind.Ipv6 ? 8w0 : 1;
        d.written = d.kind == Kind.Ipv4 ? Kind.Ipv6 : (Kind)(16w0x1234);
        d.sign = d.sign == Signed.Zero ? Signed.Minus : Signed.Zero;
    }
}

#include "frame/one_header.p4"
