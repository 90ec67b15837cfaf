#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t { }

parser ExampleParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Forwarding(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    counter(512, CounterType.packets) sent;

    action drop() {
        mark_to_drop(std);
    }

    action forward(bit<9> port) {
        std.egress_spec = port;
        sent.count((bit<32>) port);
    }

    table l2 {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 1024;
    }

    apply {
        l2.apply();
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control ExampleDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(ExampleParser(), NoChecksums(), Forwarding(), NoEgress(), NoChecksums(), ExampleDeparser()) main;
