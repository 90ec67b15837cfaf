// Indirect meters of packets and bytes. Packets of a test are one millisecond apart.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> which;
    bit<8> packets;
    bit<8> bytes;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    meter(4, MeterType.packets) by_packets;
    @name("by_bytes") meter(4, MeterType.bytes) b;
    bit<2> color;

    apply {
        color = 3;
        by_packets.execute_meter((bit<32>)d.which, color);
        d.packets = (bit<8>)color;
        b.execute_meter((bit<32>)d.which, d.bytes);
    }
}

#include "frame/one_header.p4"
