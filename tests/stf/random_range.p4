// random with equal bounds gives that bound, in every width; with the lower above the upper it changes nothing.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> same;
    bit<8> kept;
    bit<64> wide;
    bit<1> one;
    bit<8> within;
    bit<7> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<8> t = 0x77;
        random(t, d.a, d.a);
        d.same = t;
        t = 0x66;
        random(t, 8w5, 8w4);
        d.kept = t;
        random(d.wide, 64w0xfedcba9876543210, 64w0xfedcba9876543210);
        random(d.one, 1w1, 1w1);
        random(t, d.a, d.a |+| 3);
        d.within = t >= d.a && t - d.a <= 3 ? 8w1 : 0;
    }
}

#include "frame/one_header.p4"
