// Section 18.2: objects are made while compiling: a counter at the top is one object, shared by the controls that are given it.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

struct headers_t {
    data_t data;
}

struct meta_t { }

counter(4, CounterType.packets) unit;

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control Pipe(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std)(counter shared) {
    apply {
        std.egress_spec = std.ingress_port;
        shared.count(1);
    }
}

control After(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std)(counter shared, bit<32> index) {
    apply {
        shared.count(index);
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), Pipe(unit), After(unit, 2 - 1), NoChecksums(), TestDeparser()) main;
