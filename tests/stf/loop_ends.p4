// Loops at the edges: a range to the largest value, an empty range, continue runs the update, bounds are evaluated once.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  n;
    bit<16> all;
    bit<8>  empty;
    bit<8>  odd;
    bit<8>  bounds;
    bit<8>  changed;
    bit<8>  down;
    bit<8>  signed;
    bit<8>  exited;
}

bit<8> limit(inout bit<8> calls) {
    calls = calls + 1;
    return 3;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        for (bit<8> i in 8w0..255) {
            d.all = d.all + 1;
        }
        for (bit<8> i in 8w5..4) {
            d.empty = d.empty + 1;
        }
        for (bit<8> i = 0; i < 10; i += 1) {
            if (i[0:0] == 0) {
                continue;
            }
            d.odd += i;
        }
        for (bit<8> i in 8w1..limit(d.bounds)) {
            d.bounds += 0x10;
        }
        // Changing the end within the loop changes nothing.
        bit<8> end = d.n;
        for (bit<8> i in 1..end) {
            end = 0;
            d.changed += 1;
        }
        for (bit<8> i = 3; i != 0; i -= 1) {
            d.down = d.down << 2 | i;
        }
        for (int<8> i in -8s2..8s2) {
            d.signed += (bit<8>)(i * i);
        }
        for (bit<8> i in 8w0..9) {
            d.exited = i;
            if (i == d.n) {
                exit;
            }
        }
        d.exited = 0xff;
    }
}

#include "frame/one_header.p4"
