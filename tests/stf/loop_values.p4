// What a loop goes over is computed once, before the first turn; changing it inside changes nothing; a range with
// its ends swapped is empty.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> list;
    bit<8> range;
    bit<8> backwards;
    bit<8> after;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<8> x = d.a;
        bit<8> y = d.b;
        for (bit<8> v in (list<bit<8>>) { x, y, x + y }) {
            x = 0;
            y = 100;
            d.list = d.list + v;
        }
        bit<8> lo = 1;
        bit<8> hi = d.a & 7;
        for (bit<8> i in lo .. hi) {
            hi = 0;
            lo = 5;
            d.range = d.range + i;
        }
        for (bit<8> i in hi + 9 .. lo) {
            d.backwards = 1;
        }
        bit<8> i = 3;
        for (i = 10; i > d.a; i = i - 1) {
            if (i == d.b) {
                break;
            }
        }
        d.after = i;
    }
}

#include "frame/one_header.p4"
