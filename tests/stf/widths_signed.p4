// int<W> wraps in two's complement: sums, differences, products and the smallest number negated.

#include <core.p4>
#include <v1model.p4>

header data_t {
    int<2> a2;
    int<2> b2;
    int<7> a7;
    int<7> b7;
    int<8> a8;
    int<8> b8;
    int<9> a9;
    int<9> b9;
    int<31> a31;
    int<31> b31;
    int<33> a33;
    int<33> b33;
    int<63> a63;
    int<63> b63;
    int<64> a64;
    int<64> b64;
    int<65> a65;
    int<65> b65;
    int<127> a127;
    int<127> b127;
    int<128> a128;
    int<128> b128;
    int<129> a129;
    int<129> b129;
    int<256> a256;
    int<256> b256;
    int<2> sum2;
    int<7> sum7;
    int<8> sum8;
    int<9> sum9;
    int<31> sum31;
    int<33> sum33;
    int<63> sum63;
    int<64> sum64;
    int<65> sum65;
    int<127> sum127;
    int<128> sum128;
    int<129> sum129;
    int<256> sum256;
    int<2> dif2;
    int<7> dif7;
    int<8> dif8;
    int<9> dif9;
    int<31> dif31;
    int<33> dif33;
    int<63> dif63;
    int<64> dif64;
    int<65> dif65;
    int<127> dif127;
    int<128> dif128;
    int<129> dif129;
    int<256> dif256;
    int<2> mul2;
    int<7> mul7;
    int<8> mul8;
    int<9> mul9;
    int<31> mul31;
    int<33> mul33;
    int<63> mul63;
    int<64> mul64;
    int<65> mul65;
    int<127> mul127;
    int<128> mul128;
    int<129> mul129;
    int<256> mul256;
    int<2> neg2;
    int<7> neg7;
    int<8> neg8;
    int<9> neg9;
    int<31> neg31;
    int<33> neg33;
    int<63> neg63;
    int<64> neg64;
    int<65> neg65;
    int<127> neg127;
    int<128> neg128;
    int<129> neg129;
    int<256> neg256;
    bit<4> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum2 = d.a2 + d.b2;
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
        d.dif2 = d.a2 - d.b2;
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
        d.mul2 = d.a2 * d.b2;
        d.mul7 = d.a7 * d.b7;
        d.mul8 = d.a8 * d.b8;
        d.mul9 = d.a9 * d.b9;
        d.mul31 = d.a31 * d.b31;
        d.mul33 = d.a33 * d.b33;
        d.mul63 = d.a63 * d.b63;
        d.mul64 = d.a64 * d.b64;
        d.mul65 = d.a65 * d.b65;
        d.mul127 = d.a127 * d.b127;
        d.mul128 = d.a128 * d.b128;
        d.mul129 = d.a129 * d.b129;
        d.mul256 = d.a256 * d.b256;
        d.neg2 = -d.a2;
        d.neg7 = -d.a7;
        d.neg8 = -d.a8;
        d.neg9 = -d.a9;
        d.neg31 = -d.a31;
        d.neg33 = -d.a33;
        d.neg63 = -d.a63;
        d.neg64 = -d.a64;
        d.neg65 = -d.a65;
        d.neg127 = -d.a127;
        d.neg128 = -d.a128;
        d.neg129 = -d.a129;
        d.neg256 = -d.a256;
    }
}

#include "frame/one_header.p4"
