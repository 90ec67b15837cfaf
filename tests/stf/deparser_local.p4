// A deparser emits a header of its own that it made from others; the packet's headers stay out of it.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

struct headers_t {
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
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        data_t trailer = hdr.data;
        trailer.x = trailer.x + 1;
        packet.emit(hdr.data);
        packet.emit(trailer);
        trailer.setInvalid();
        packet.emit(trailer);
    }
}

#include "frame/pipeline.p4"
