// Stacks copied whole, compared with ==, elements swapped, size and indices as constants and in loops.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> equal;
    bit<8> different;
    bit<8> sum;
    bit<8> size;
    bit<8> swapped;
}

header cell_t {
    bit<8> x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    cell_t[4] s;
    cell_t[4] t;

    apply {
        for (bit<8> i in 8w0..3) {
            s[i].setValid();
            s[i].x = d.a + i;
        }
        t = s;
        d.equal = s == t ? 8w1 : 0;
        t[2].x = t[2].x + 1;
        d.different = s != t ? 8w1 : 0;
        t[2] = s[2];
        t[3].setInvalid();
        d.different = d.different << 4 | (s == t ? 8w0 : 1);
        for (bit<8> i in 8w0..5) {
            if (i < (bit<8>) s.size && t[i].isValid()) {
                d.sum = d.sum + t[i].x;
            }
        }
        d.size = (bit<8>) s.size;
        cell_t swap = s[0];
        s[0] = s[3];
        s[3] = swap;
        d.swapped = s[0].x << 4 | s[3].x;
    }
}

#include "frame/one_header.p4"
