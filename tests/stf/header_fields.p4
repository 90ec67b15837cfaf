// Headers with fields of bool, int, enum, struct and new types, fields that cross byte boundaries, and sizes.

#include <core.p4>
#include <v1model.p4>

enum bit<3> Color {
    Red = 5,
    Blue = 2
}

type bit<6> small_t;

struct inner_t {
    bit<3> x;
    bool   y;
    int<5> z;
}

header data_t {
    bool    first;
    Color   color;
    small_t small;
    inner_t inner;
    bit<20> crossing;
    bit<1>  last;
    bit<8>  sizes;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.first = !d.first;
        d.color = d.color == Color.Red ? Color.Blue : Color.Red;
        d.small = (small_t)(((bit<6>)d.small) + 1);
        d.inner.x = d.inner.x ^ 7;
        d.inner.y = d.inner.z < 0;
        d.inner.z = -d.inner.z;
        d.crossing = d.crossing + 1;
        d.last = ~d.last;
        d.sizes = (bit<8>)d.minSizeInBits() + (bit<8>)d.minSizeInBytes();
    }
}

#include "frame/one_header.p4"
