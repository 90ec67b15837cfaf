// A small layer-2 switch, of which many tenants run one each: forwards by destination MAC address, drops what it does not know.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {}

parser SmallParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SmallIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    table mac {
        key = { hdr.ethernet.dst : exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 256;
    }

    apply {
        mac.apply();
    }
}

control SmallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control SmallDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(SmallParser(), NoChecksums(), SmallIngress(), SmallEgress(), NoChecksums(), SmallDeparser()) main;
