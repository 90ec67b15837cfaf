// Section 11.3: a bank of counters is instantiated, with its arguments by position and by name.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> index;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    counter(32w1024, CounterType.packets_and_bytes) ctr;
    counter(type = CounterType.packets, size = 4) named;

    apply {
        ctr.count((bit<32>) d.index);
        named.count(1);
    }
}

#include "../stf/frame/one_header.p4"
