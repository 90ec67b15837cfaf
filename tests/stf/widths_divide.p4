// Division and modulo at run time up to 128 bits; by zero both give zero.

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
    bit<1> quo1;
    bit<7> quo7;
    bit<8> quo8;
    bit<9> quo9;
    bit<31> quo31;
    bit<33> quo33;
    bit<63> quo63;
    bit<64> quo64;
    bit<65> quo65;
    bit<127> quo127;
    bit<128> quo128;
    bit<1> rem1;
    bit<7> rem7;
    bit<8> rem8;
    bit<9> rem9;
    bit<31> rem31;
    bit<33> rem33;
    bit<63> rem63;
    bit<64> rem64;
    bit<65> rem65;
    bit<127> rem127;
    bit<128> rem128;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.quo1 = d.a1 / d.b1;
        d.quo7 = d.a7 / d.b7;
        d.quo8 = d.a8 / d.b8;
        d.quo9 = d.a9 / d.b9;
        d.quo31 = d.a31 / d.b31;
        d.quo33 = d.a33 / d.b33;
        d.quo63 = d.a63 / d.b63;
        d.quo64 = d.a64 / d.b64;
        d.quo65 = d.a65 / d.b65;
        d.quo127 = d.a127 / d.b127;
        d.quo128 = d.a128 / d.b128;
        d.rem1 = d.a1 % d.b1;
        d.rem7 = d.a7 % d.b7;
        d.rem8 = d.a8 % d.b8;
        d.rem9 = d.a9 % d.b9;
        d.rem31 = d.a31 % d.b31;
        d.rem33 = d.a33 % d.b33;
        d.rem63 = d.a63 % d.b63;
        d.rem64 = d.a64 % d.b64;
        d.rem65 = d.a65 % d.b65;
        d.rem127 = d.a127 % d.b127;
        d.rem128 = d.a128 % d.b128;
    }
}

#include "frame/one_header.p4"
