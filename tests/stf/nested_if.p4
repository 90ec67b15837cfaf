// Nested if and else: an else belongs to the nearest if.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        if (d.a > 1)
            if (d.b > 1)
                d.result = 1;
            else
                d.result = 2;
        else if (d.a == 1) {
            if (d.b == 0) ;
            else
                d.result = 3;
        } else {
            d.result = 4;
            if (d.b == 7) {
                return;
            }
            d.result = 5;
        }
        d.result = d.result | 0x80;
    }
}

#include "frame/one_header.p4"
