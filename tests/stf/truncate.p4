// truncate cuts what leaves, headers and payload; a packet that is shorter stays as it is.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  length;
    bit<16> x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        truncate((bit<32>)d.length);
    }
}

#include "frame/one_header.p4"
