// ?: and if choose whole values of every width; min and max as an example.

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
    bit<1> min1;
    bit<7> min7;
    bit<8> min8;
    bit<9> min9;
    bit<31> min31;
    bit<33> min33;
    bit<63> min63;
    bit<64> min64;
    bit<65> min65;
    bit<127> min127;
    bit<128> min128;
    bit<129> min129;
    bit<256> min256;
    bit<1> max1;
    bit<7> max7;
    bit<8> max8;
    bit<9> max9;
    bit<31> max31;
    bit<33> max33;
    bit<63> max63;
    bit<64> max64;
    bit<65> max65;
    bit<127> max127;
    bit<128> max128;
    bit<129> max129;
    bit<256> max256;
    bit<4> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.min1 = d.a1 < d.b1 ? d.a1 : d.b1;
        d.min7 = d.a7 < d.b7 ? d.a7 : d.b7;
        d.min8 = d.a8 < d.b8 ? d.a8 : d.b8;
        d.min9 = d.a9 < d.b9 ? d.a9 : d.b9;
        d.min31 = d.a31 < d.b31 ? d.a31 : d.b31;
        d.min33 = d.a33 < d.b33 ? d.a33 : d.b33;
        d.min63 = d.a63 < d.b63 ? d.a63 : d.b63;
        d.min64 = d.a64 < d.b64 ? d.a64 : d.b64;
        d.min65 = d.a65 < d.b65 ? d.a65 : d.b65;
        d.min127 = d.a127 < d.b127 ? d.a127 : d.b127;
        d.min128 = d.a128 < d.b128 ? d.a128 : d.b128;
        d.min129 = d.a129 < d.b129 ? d.a129 : d.b129;
        d.min256 = d.a256 < d.b256 ? d.a256 : d.b256;
        d.max1 = d.a1 > d.b1 ? d.a1 : d.b1;
        d.max7 = d.a7 > d.b7 ? d.a7 : d.b7;
        d.max8 = d.a8 > d.b8 ? d.a8 : d.b8;
        d.max9 = d.a9 > d.b9 ? d.a9 : d.b9;
        d.max31 = d.a31 > d.b31 ? d.a31 : d.b31;
        d.max33 = d.a33 > d.b33 ? d.a33 : d.b33;
        d.max63 = d.a63 > d.b63 ? d.a63 : d.b63;
        d.max64 = d.a64 > d.b64 ? d.a64 : d.b64;
        d.max65 = d.a65 > d.b65 ? d.a65 : d.b65;
        d.max127 = d.a127 > d.b127 ? d.a127 : d.b127;
        d.max128 = d.a128 > d.b128 ? d.a128 : d.b128;
        d.max129 = d.a129 > d.b129 ? d.a129 : d.b129;
        d.max256 = d.a256 > d.b256 ? d.a256 : d.b256;
    }
}

#include "frame/one_header.p4"
