// Registers of every width keep all their bits; writing beyond the end changes no other cell.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> write;
    bit<1> v1;
    bit<7> v7;
    bit<9> v9;
    bit<31> v31;
    bit<33> v33;
    bit<63> v63;
    bit<64> v64;
    bit<65> v65;
    bit<127> v127;
    bit<128> v128;
    bit<129> v129;
    bit<256> v256;
    bit<7> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    register<bit<1>>(3) r1;
    register<bit<7>>(3) r7;
    register<bit<9>>(3) r9;
    register<bit<31>>(3) r31;
    register<bit<33>>(3) r33;
    register<bit<63>>(3) r63;
    register<bit<64>>(3) r64;
    register<bit<65>>(3) r65;
    register<bit<127>>(3) r127;
    register<bit<128>>(3) r128;
    register<bit<129>>(3) r129;
    register<bit<256>>(3) r256;

    apply {
        bit<1> old1;
        r1.read(old1, 2);
        if (d.write == 1) {
            r1.write(2, d.v1);
            r1.write(3, d.v1);
        }
        d.v1 = old1;
        bit<7> old7;
        r7.read(old7, 2);
        if (d.write == 1) {
            r7.write(2, d.v7);
            r7.write(3, d.v7);
        }
        d.v7 = old7;
        bit<9> old9;
        r9.read(old9, 2);
        if (d.write == 1) {
            r9.write(2, d.v9);
            r9.write(3, d.v9);
        }
        d.v9 = old9;
        bit<31> old31;
        r31.read(old31, 2);
        if (d.write == 1) {
            r31.write(2, d.v31);
            r31.write(3, d.v31);
        }
        d.v31 = old31;
        bit<33> old33;
        r33.read(old33, 2);
        if (d.write == 1) {
            r33.write(2, d.v33);
            r33.write(3, d.v33);
        }
        d.v33 = old33;
        bit<63> old63;
        r63.read(old63, 2);
        if (d.write == 1) {
            r63.write(2, d.v63);
            r63.write(3, d.v63);
        }
        d.v63 = old63;
        bit<64> old64;
        r64.read(old64, 2);
        if (d.write == 1) {
            r64.write(2, d.v64);
            r64.write(3, d.v64);
        }
        d.v64 = old64;
        bit<65> old65;
        r65.read(old65, 2);
        if (d.write == 1) {
            r65.write(2, d.v65);
            r65.write(3, d.v65);
        }
        d.v65 = old65;
        bit<127> old127;
        r127.read(old127, 2);
        if (d.write == 1) {
            r127.write(2, d.v127);
            r127.write(3, d.v127);
        }
        d.v127 = old127;
        bit<128> old128;
        r128.read(old128, 2);
        if (d.write == 1) {
            r128.write(2, d.v128);
            r128.write(3, d.v128);
        }
        d.v128 = old128;
        bit<129> old129;
        r129.read(old129, 2);
        if (d.write == 1) {
            r129.write(2, d.v129);
            r129.write(3, d.v129);
        }
        d.v129 = old129;
        bit<256> old256;
        r256.read(old256, 2);
        if (d.write == 1) {
            r256.write(2, d.v256);
            r256.write(3, d.v256);
        }
        d.v256 = old256;
    }
}

#include "frame/one_header.p4"
