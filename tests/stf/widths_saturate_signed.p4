// |+| and |-| of int<W> stop at the smallest and at the largest number of W bits.

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
    int<2> add2;
    int<7> add7;
    int<8> add8;
    int<9> add9;
    int<31> add31;
    int<33> add33;
    int<63> add63;
    int<64> add64;
    int<65> add65;
    int<127> add127;
    int<128> add128;
    int<129> add129;
    int<256> add256;
    int<2> sub2;
    int<7> sub7;
    int<8> sub8;
    int<9> sub9;
    int<31> sub31;
    int<33> sub33;
    int<63> sub63;
    int<64> sub64;
    int<65> sub65;
    int<127> sub127;
    int<128> sub128;
    int<129> sub129;
    int<256> sub256;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.add2 = d.a2 |+| d.b2;
        d.add7 = d.a7 |+| d.b7;
        d.add8 = d.a8 |+| d.b8;
        d.add9 = d.a9 |+| d.b9;
        d.add31 = d.a31 |+| d.b31;
        d.add33 = d.a33 |+| d.b33;
        d.add63 = d.a63 |+| d.b63;
        d.add64 = d.a64 |+| d.b64;
        d.add65 = d.a65 |+| d.b65;
        d.add127 = d.a127 |+| d.b127;
        d.add128 = d.a128 |+| d.b128;
        d.add129 = d.a129 |+| d.b129;
        d.add256 = d.a256 |+| d.b256;
        d.sub2 = d.a2 |-| d.b2;
        d.sub7 = d.a7 |-| d.b7;
        d.sub8 = d.a8 |-| d.b8;
        d.sub9 = d.a9 |-| d.b9;
        d.sub31 = d.a31 |-| d.b31;
        d.sub33 = d.a33 |-| d.b33;
        d.sub63 = d.a63 |-| d.b63;
        d.sub64 = d.a64 |-| d.b64;
        d.sub65 = d.a65 |-| d.b65;
        d.sub127 = d.a127 |-| d.b127;
        d.sub128 = d.a128 |-| d.b128;
        d.sub129 = d.a129 |-| d.b129;
        d.sub256 = d.a256 |-| d.b256;
    }
}

#include "frame/one_header.p4"
