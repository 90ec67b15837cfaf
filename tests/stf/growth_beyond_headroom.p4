// Packets that grow in a pass by more than any buffer has room for: a deparser that emits a header as often as the packet says.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> count;
}

header long_t { bit<800> x; }

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

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    long_t long;
    apply {
        packet.emit(hdr.data);
        long.setValid();
        long.x = 5;
        for (bit<8> i = 0; i < hdr.data.count; i = i + 1) {
            packet.emit(long);
        }
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
