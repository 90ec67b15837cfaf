// for over a header stack goes through all its elements, valid or not; the loop variable is a copy.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> sum;
    bit<8> turns;
    bit<8> first;
}

header cell_t {
    bit<8> x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    cell_t[4] s;

    apply {
        s[0] = { d.a };
        s[2] = { 5 };
        for (cell_t c in s) {
            d.turns = d.turns + 1;
            if (!c.isValid()) {
                continue;
            }
            d.sum = d.sum + c.x;
            c.x = 0xff;
            if (d.sum > 0x80) {
                break;
            }
        }
        d.first = s[0].x;
    }
}

#include "frame/one_header.p4"
