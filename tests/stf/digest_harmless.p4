// A digest changes nothing about the packet: of a struct, of a header, of a list; several in a packet, and of one
// that is dropped.

#include <core.p4>
#include <v1model.p4>

struct learn_t {
    bit<8> a;
    bit<9> port;
}

header data_t {
    bit<8> what;
    bit<8> a;
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
    apply {
        std.egress_spec = 2;
        learn_t l = { hdr.data.a, std.ingress_port };
        digest<learn_t>(1, l);
        if (hdr.data.what > 0) {
            digest(2, { hdr.data.a, hdr.data.what });
            l.port = 7;
            hdr.data.a = hdr.data.a + 1;
        }
        if (hdr.data.what == 2) {
            mark_to_drop(std);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.a = hdr.data.a + 0x10;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
