// for loops over ranges and lists and with a condition; break, continue and return leave or go on with the innermost.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  n;
    bit<8>  sum;
    bit<8>  skipped;
    bit<8>  broken;
    bit<16> order;
    bit<8>  nested;
    bit<8>  two_counters;
    bit<8>  found;
}

// The first i with i * i >= n.
bit<8> root(in bit<8> n) {
    for (bit<8> i in 8w0..15) {
        if (i * i >= n) {
            return i;
        }
    }
    return 0xff;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        for (bit<8> i = 0; i < d.n; i = i + 1) {
            d.sum = d.sum + i;
        }
        for (bit<8> i in 8w1..5) {
            if (i == d.n) {
                continue;
            }
            d.skipped = d.skipped + i;
        }
        for (bit<8> i in 8w1..5) {
            if (i == d.n) {
                break;
            }
            d.broken = d.broken + i;
        }
        for (bit<16> digit in (list<bit<16>>){ 3, 1, 4, 2 }) {
            d.order = (d.order << 4) | digit;
        }
        for (bit<8> i in 8w1..3) {
            for (bit<8> j in 8w1..3) {
                if (j == i) {
                    break;
                }
                d.nested = d.nested + 1;
            }
        }
        for (bit<8> i = 0, bit<8> j = 10; i < j; i = i + 1, j = j - 2) {
            d.two_counters = i * 16 + j;
        }
        d.found = root(d.n);
    }
}

#include "frame/one_header.p4"
