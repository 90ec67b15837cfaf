// Packets from one byte to jumbo size pass with their payload untouched behind a header that grows and shrinks.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
}

header big_t {
    bit<512> x;
    bit<512> y;
}

struct headers_t {
    big_t  big;
    data_t data;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.data.what == 1) {
            hdr.big.setValid();
            hdr.big.x = 1;
            hdr.big.y = 512w1 << 511;
        } else if (hdr.data.what == 2) {
            hdr.data.setInvalid();
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
