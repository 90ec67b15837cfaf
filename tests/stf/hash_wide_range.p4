// `hash` with bounds of more than 64 bits: a range beyond any hash leaves it as it is.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<96>  max;
    bit<32>  key;
    bit<128> result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        hash(d.result, HashAlgorithm.identity, 128w1 << 100, { d.key }, d.max);
    }
}

#include "frame/one_header.p4"
