// for over lists of constants and of computed values, of structs, nested, and with a loop variable declared
// outside.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> x;
    bit<8> y;
}

header data_t {
    bit<8> a;
    bit<32> digits;
    bit<8> weighted;
    bit<8> pairs;
    bit<8> outside;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        for (bit<32> v in (list<bit<32>>) { 1, (bit<32>) d.a, 3 }) {
            d.digits = d.digits << 8 | v;
        }
        for (pair_t p in (list<pair_t>) { { 1, 2 }, { 3, d.a }, { d.a, 5 } }) {
            d.weighted = d.weighted + p.x * p.y;
        }
        for (bit<8> x in (list<bit<8>>) { 1, 2, 4 }) {
            for (bit<8> y in (list<bit<8>>) { 8, 16 }) {
                if (y == d.a) {
                    continue;
                }
                d.pairs = d.pairs + x * y;
            }
        }
        bit<8> i = 0x40;
        for (i = 0; i < d.a && i < 20; i += 3) {
        }
        d.outside = i;
    }
}

#include "frame/one_header.p4"
