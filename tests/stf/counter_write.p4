// Counters that the control plane has set go on from there.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> index;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    counter(2, CounterType.packets_and_bytes) c;

    apply {
        c.count((bit<32>) d.index);
    }
}

#include "frame/one_header.p4"
