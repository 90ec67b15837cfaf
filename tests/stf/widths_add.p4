// Addition and subtraction of bit<W> wrap at W bits, for widths around bytes and machine words.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<1> a1;
    bit<1> b1;
    bit<7> a7;
    bit<7> b7;
    bit<8> a8;
    bit<8> b8;
    bit<9> a9;
    bit<9> b9;
    bit<31> a31;
    bit<31> b31;
    bit<33> a33;
    bit<33> b33;
    bit<63> a63;
    bit<63> b63;
    bit<64> a64;
    bit<64> b64;
    bit<65> a65;
    bit<65> b65;
    bit<127> a127;
    bit<127> b127;
    bit<128> a128;
    bit<128> b128;
    bit<129> a129;
    bit<129> b129;
    bit<256> a256;
    bit<256> b256;
    bit<1> sum1;
    bit<7> sum7;
    bit<8> sum8;
    bit<9> sum9;
    bit<31> sum31;
    bit<33> sum33;
    bit<63> sum63;
    bit<64> sum64;
    bit<65> sum65;
    bit<127> sum127;
    bit<128> sum128;
    bit<129> sum129;
    bit<256> sum256;
    bit<1> dif1;
    bit<7> dif7;
    bit<8> dif8;
    bit<9> dif9;
    bit<31> dif31;
    bit<33> dif33;
    bit<63> dif63;
    bit<64> dif64;
    bit<65> dif65;
    bit<127> dif127;
    bit<128> dif128;
    bit<129> dif129;
    bit<256> dif256;
    bit<4> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum1 = d.a1 + d.b1;
        d.sum7 = d.a7 + d.b7;
        d.sum8 = d.a8 + d.b8;
        d.sum9 = d.a9 + d.b9;
        d.sum31 = d.a31 + d.b31;
        d.sum33 = d.a33 + d.b33;
        d.sum63 = d.a63 + d.b63;
        d.sum64 = d.a64 + d.b64;
        d.sum65 = d.a65 + d.b65;
        d.sum127 = d.a127 + d.b127;
        d.sum128 = d.a128 + d.b128;
        d.sum129 = d.a129 + d.b129;
        d.sum256 = d.a256 + d.b256;
        d.dif1 = d.a1 - d.b1;
        d.dif7 = d.a7 - d.b7;
        d.dif8 = d.a8 - d.b8;
        d.dif9 = d.a9 - d.b9;
        d.dif31 = d.a31 - d.b31;
        d.dif33 = d.a33 - d.b33;
        d.dif63 = d.a63 - d.b63;
        d.dif64 = d.a64 - d.b64;
        d.dif65 = d.a65 - d.b65;
        d.dif127 = d.a127 - d.b127;
        d.dif128 = d.a128 - d.b128;
        d.dif129 = d.a129 - d.b129;
        d.dif256 = d.a256 - d.b256;
    }
}

#include "frame/one_header.p4"
