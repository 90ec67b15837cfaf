// A switch that learns addresses by digests, and forgets those that are not seen for a while.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {
    bit<1> known;
}

struct learn_t {
    bit<48> address;
    bit<9> port;
}

parser TheParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) { apply { } }

control MyIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action learn() { digest<learn_t>(1, { hdr.ethernet.src, std.ingress_port }); }

    table sources {
        key = { hdr.ethernet.src : exact; }
        actions = { learn; NoAction; }
        default_action = learn();
        support_timeout = true;
    }

    apply {
        std.egress_spec = std.ingress_port ^ 1;
        sources.apply();
    }
}

control MyEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }

control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }

control MyDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }

V1Switch(TheParser(), Verify(), MyIngress(), MyEgress(), Compute(), MyDeparser()) main;
