// Products keep the lower W bits, for widths around bytes and machine words.

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
    bit<1> mul1;
    bit<7> mul7;
    bit<8> mul8;
    bit<9> mul9;
    bit<31> mul31;
    bit<33> mul33;
    bit<63> mul63;
    bit<64> mul64;
    bit<65> mul65;
    bit<127> mul127;
    bit<128> mul128;
    bit<129> mul129;
    bit<256> mul256;
    bit<5> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.mul1 = d.a1 * d.b1;
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
    }
}

#include "frame/one_header.p4"
