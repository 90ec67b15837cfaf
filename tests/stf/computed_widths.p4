// Widths that are constant expressions, typedefs of typedefs, sizes of headers in bits and bytes at compile time.

#include <core.p4>
#include <v1model.p4>

const bit<8> N = 4;
#define TWICE(x) ((x) * 2)

typedef bit<(N * 2)> byte_t;
typedef byte_t octet_t;
type bit<(TWICE(8))> word_t;

header data_t {
    bit<(N + 4)> a;
    octet_t      b;
    word_t       c;
    bit<8>       bits;
    bit<8>       bytes;
    bit<8>       most;
}

header v_t {
    bit<8>     x;
    varbit<96> y;
    bit<16>    z;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    v_t v;

    apply {
        d.b = d.a + 1;
        d.c = (word_t) (d.a ++ d.b);
        d.bits = (bit<8>) d.minSizeInBits();
        d.bytes = (bit<8>) d.minSizeInBytes();
        d.most = (bit<8>) v.maxSizeInBits() + (bit<8>) v.minSizeInBits();
    }
}

#include "frame/one_header.p4"
