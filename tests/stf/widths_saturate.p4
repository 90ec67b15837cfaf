// |+| and |-| of bit<W> stop at 0 and at the largest value of W bits.

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
    bit<1> add1;
    bit<7> add7;
    bit<8> add8;
    bit<9> add9;
    bit<31> add31;
    bit<33> add33;
    bit<63> add63;
    bit<64> add64;
    bit<65> add65;
    bit<127> add127;
    bit<128> add128;
    bit<129> add129;
    bit<256> add256;
    bit<1> sub1;
    bit<7> sub7;
    bit<8> sub8;
    bit<9> sub9;
    bit<31> sub31;
    bit<33> sub33;
    bit<63> sub63;
    bit<64> sub64;
    bit<65> sub65;
    bit<127> sub127;
    bit<128> sub128;
    bit<129> sub129;
    bit<256> sub256;
    bit<4> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.add1 = d.a1 |+| d.b1;
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
        d.sub1 = d.a1 |-| d.b1;
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
