// &, |, ^ and ~ at widths around bytes and machine words: nothing above W bits is ever set.

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
    bit<1> con1;
    bit<7> con7;
    bit<8> con8;
    bit<9> con9;
    bit<31> con31;
    bit<33> con33;
    bit<63> con63;
    bit<64> con64;
    bit<65> con65;
    bit<127> con127;
    bit<128> con128;
    bit<129> con129;
    bit<256> con256;
    bit<1> dis1;
    bit<7> dis7;
    bit<8> dis8;
    bit<9> dis9;
    bit<31> dis31;
    bit<33> dis33;
    bit<63> dis63;
    bit<64> dis64;
    bit<65> dis65;
    bit<127> dis127;
    bit<128> dis128;
    bit<129> dis129;
    bit<256> dis256;
    bit<1> xor1;
    bit<7> xor7;
    bit<8> xor8;
    bit<9> xor9;
    bit<31> xor31;
    bit<33> xor33;
    bit<63> xor63;
    bit<64> xor64;
    bit<65> xor65;
    bit<127> xor127;
    bit<128> xor128;
    bit<129> xor129;
    bit<256> xor256;
    bit<3> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.con1 = d.a1 & d.b1;
        d.con7 = d.a7 & d.b7;
        d.con8 = d.a8 & d.b8;
        d.con9 = d.a9 & d.b9;
        d.con31 = d.a31 & d.b31;
        d.con33 = d.a33 & d.b33;
        d.con63 = d.a63 & d.b63;
        d.con64 = d.a64 & d.b64;
        d.con65 = d.a65 & d.b65;
        d.con127 = d.a127 & d.b127;
        d.con128 = d.a128 & d.b128;
        d.con129 = d.a129 & d.b129;
        d.con256 = d.a256 & d.b256;
        d.dis1 = d.a1 | ~d.b1;
        d.dis7 = d.a7 | ~d.b7;
        d.dis8 = d.a8 | ~d.b8;
        d.dis9 = d.a9 | ~d.b9;
        d.dis31 = d.a31 | ~d.b31;
        d.dis33 = d.a33 | ~d.b33;
        d.dis63 = d.a63 | ~d.b63;
        d.dis64 = d.a64 | ~d.b64;
        d.dis65 = d.a65 | ~d.b65;
        d.dis127 = d.a127 | ~d.b127;
        d.dis128 = d.a128 | ~d.b128;
        d.dis129 = d.a129 | ~d.b129;
        d.dis256 = d.a256 | ~d.b256;
        d.xor1 = ~d.a1 ^ d.b1;
        d.xor7 = ~d.a7 ^ d.b7;
        d.xor8 = ~d.a8 ^ d.b8;
        d.xor9 = ~d.a9 ^ d.b9;
        d.xor31 = ~d.a31 ^ d.b31;
        d.xor33 = ~d.a33 ^ d.b33;
        d.xor63 = ~d.a63 ^ d.b63;
        d.xor64 = ~d.a64 ^ d.b64;
        d.xor65 = ~d.a65 ^ d.b65;
        d.xor127 = ~d.a127 ^ d.b127;
        d.xor128 = ~d.a128 ^ d.b128;
        d.xor129 = ~d.a129 ^ d.b129;
        d.xor256 = ~d.a256 ^ d.b256;
    }
}

#include "frame/one_header.p4"
