// random on more than 64 bits.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<128> v;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        random(d.v, 128w1 << 127, 128w1 << 127);
    }
}

#include "frame/one_header.p4"
