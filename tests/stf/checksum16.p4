// The deprecated checksum object: the Internet checksum of a struct, a list, a number.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> a;
    bit<16> b;
    bit<8>  c;
    bit<16> sum;
}

struct pair_t {
    bit<16> a;
    bit<16> b;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Checksum16() sums;

    apply {
        if (d.c == 0) {
            d.sum = sums.get({ d.a, d.b, d.c });
        } else if (d.c == 1) {
            pair_t p = { d.b, d.a };
            d.sum = sums.get(p);
        } else {
            d.sum = sums.get(d.c);
        }
    }
}

#include "frame/one_header.p4"
