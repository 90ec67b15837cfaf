// Counters of packets, of bytes and of both; egress has its own; indices from fields, beyond the end nothing
// counts.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> index;
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

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(4, CounterType.packets) number;
    counter(4, CounterType.bytes) size;
    counter(4, CounterType.packets_and_bytes) both;

    apply {
        std.egress_spec = std.ingress_port;
        number.count((bit<32>) hdr.data.index);
        size.count((bit<32>) hdr.data.index);
        both.count((bit<32>) hdr.data.index);
        if (hdr.data.index == 2) {
            both.count(2);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(4, CounterType.packets_and_bytes) both;

    apply {
        hdr.data.setInvalid();
        both.count((bit<32>) (bit<2>) std.egress_port);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
