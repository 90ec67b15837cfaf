// A digest with varbits, one after another: each has the length that it has when it is sent.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> size;
    varbit<96> rest;
}

struct headers_t {
    data_t data;
}

struct seen_t {
    bit<8> first;
    varbit<96> rest;
    varbit<96> kept;
    bit<9> port;
}

struct meta_t {
    varbit<96> kept;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        bit<8> size = packet.lookahead<bit<8>>();
        packet.extract(hdr.data, (bit<32>) size * 8);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        if (hdr.data.size[0:0] == 1) {
            meta.kept = hdr.data.rest;
        }
        digest<seen_t>(1, { hdr.data.size, hdr.data.rest, meta.kept, std.ingress_port });
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
