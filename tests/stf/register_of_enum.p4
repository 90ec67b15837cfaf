// Registers of a serialisable enum, a new type, int<W> and bool.

#include <core.p4>
#include <v1model.p4>

enum bit<8> Kind {
    A = 1,
    B = 2
}

type bit<8> opaque_t;

header data_t {
    bit<8> k;
    int<8> n;
    bit<8> was_kind;
    int<8> was_number;
    bit<8> was_flag;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    register<Kind>(1) kinds;
    register<int<8>>(1) numbers;
    register<opaque_t>(1) opaques;
    register<bool>(1) flags;

    apply {
        Kind kind;
        int<8> number;
        opaque_t opaque;
        bool flag;
        kinds.read(kind, 0);
        numbers.read(number, 0);
        opaques.read(opaque, 0);
        flags.read(flag, 0);
        d.was_kind = (bit<8>) kind + (kind == Kind.B ? 8w0x10 : 0);
        d.was_number = number < 0 ? -number : number;
        d.was_flag = (flag ? 8w1 : 0) + (bit<8>) opaque;
        kinds.write(0, (Kind) d.k);
        numbers.write(0, d.n);
        opaques.write(0, (opaque_t) (d.k << 1));
        flags.write(0, d.n < 0);
    }
}

#include "frame/one_header.p4"
