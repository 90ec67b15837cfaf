// random stays within its bounds, both included; assert drops a packet for which it does not hold.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  what;
    bit<8>  fixed;
    bit<8>  within;
    bit<16> rest;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        random(d.fixed, 8w7, 8w7);
        for (bit<8> i in 8w1..50) {
            bit<4> r;
            random(r, 4w3, 4w5);
            if (r < 3 || r > 5) {
                d.within = d.within + 1;
            }
        }
        assert(d.what != 1);
        assume(d.what != 2);
        log_msg("what is {}", { d.what });
    }
}

#include "frame/one_header.p4"
