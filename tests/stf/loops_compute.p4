// Loops that compute: bit counts, searches that end early, break out of the inner only, values carried over.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> a;
    bit<8> steps;
    bit<16> last;
    bit<8> positions;
    bit<8> factors;
    bit<8> bits;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<16> x = d.a;
        for (bit<8> i in 8w0..11) {
            if (x <= 1) {
                break;
            }
            x = x[0:0] == 0 ? x >> 1 : 3 * x + 1;
            d.steps = d.steps + 1;
        }
        d.last = x;
        for (bit<4> i = 0; i < 8; i = i + 1) {
            if ((d.a >> i)[0:0] == 0) {
                continue;
            }
            d.positions = d.positions + (bit<8>) i;
        }
        for (bit<16> i in 16w1..4) {
            for (bit<16> j in 16w1..4) {
                if (i * j == d.a) {
                    d.factors = (i << 4 | j)[7:0];
                    break;
                }
            }
            if (d.factors != 0) {
                break;
            }
        }
        bit<16> rest = d.a;
        for (; rest != 0; rest = rest & (rest - 1)) {
            d.bits += 1;
        }
    }
}

#include "frame/one_header.p4"
