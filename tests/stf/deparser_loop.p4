// A deparser that counts: it emits a header of its own as often as a field says, changing it, and leaves out what it
// made invalid.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> times;
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
        data_t own = hdr.data;
        for (bit<8> i in 8w1 .. hdr.data.times) {
            own.times = i;
            packet.emit(own);
            own.x = own.x + 16;
            if (i == 5) {
                own.setInvalid();
            }
        }
        if (hdr.data.x != 0) {
            packet.emit(hdr.data);
        }
        packet.emit(own);
    }
}

#include "frame/pipeline.p4"
