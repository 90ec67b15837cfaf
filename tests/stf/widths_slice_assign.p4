// Assignments to slices of a value of 256 bits, within and across its words; the other bits stay.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<256> a;
    bit<256> v;
    bit<256> t0;
    bit<256> t1;
    bit<256> t2;
    bit<256> t3;
    bit<256> t4;
    bit<256> t5;
    bit<256> t6;
    bit<256> t7;
    bit<256> t8;
    bit<256> t9;
    bit<256> t10;
    bit<256> t11;
    bit<256> t12;
    bit<256> t13;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.t0 = d.a;
        d.t0[63:0] = d.v[63:0];
        d.t1 = d.a;
        d.t1[64:0] = d.v[64:0];
        d.t2 = d.a;
        d.t2[64:64] = d.v[0:0];
        d.t3 = d.a;
        d.t3[63:63] = d.v[0:0];
        d.t4 = d.a;
        d.t4[127:64] = d.v[63:0];
        d.t5 = d.a;
        d.t5[128:64] = d.v[64:0];
        d.t6 = d.a;
        d.t6[128:63] = d.v[65:0];
        d.t7 = d.a;
        d.t7[128:128] = d.v[0:0];
        d.t8 = d.a;
        d.t8[255:128] = d.v[127:0];
        d.t9 = d.a;
        d.t9[191:65] = d.v[126:0];
        d.t10 = d.a;
        d.t10[255:255] = d.v[0:0];
        d.t11 = d.a;
        d.t11[200:3] = d.v[197:0];
        d.t12 = d.a;
        d.t12[130:126] = d.v[4:0];
        d.t13 = d.a;
        d.t13[64:1] = d.v[63:0];
    }
}

#include "frame/one_header.p4"
