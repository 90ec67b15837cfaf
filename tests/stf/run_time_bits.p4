// Assignments to bits at a position that is known only at run time: the position is fixed before the value is evaluated, other
// bits stay, bits beyond the field are lost.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  op;
    bit<8>  i;
    bit<16> x;
    int<8>  n;
}

header x_t {
    bit<8> v;
}

bit<8> inc(inout bit<8> v) {
    v = v + 1;
    return v;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        x_t[2] s;
        s[0] = { 0x11 };
        s[1] = { 0x22 };
        bit<8> k = 0;
        switch (d.op) {
            1: { d.x[d.i+:4] = 0xa; }
            2: { d.x[d.i+:4] += 9; }
            3: { d.n[d.i+:2] = 3; }
            4: { d.x[d.i+:4] = (bit<4>) inc(d.i); }
            5: { s[k].v[d.i+:4] = (bit<4>) inc(k); d.x = s[0].v ++ s[1].v; }
            6: { d.x[15:8][d.i+:4] = 0xa; }
            7: { d.x[d.i+:16] = 0xffff; }
            8: { d.x[d.i+:1] ^= 1; }
            9: { d.x[d.i+:4] = d.x[d.i + 4+:4]; }
        }
    }
}

#include "frame/one_header.p4"
