// User metadata and what ingress wrote to standard metadata are there in egress; the next packet starts from zero.

#include <core.p4>
#include <v1model.p4>

struct inner_t {
    bit<8> x;
    bit<8> y;
}

header data_t {
    bit<8> what;
    bit<8> m;
    bit<8> inner;
    bit<8> flag;
    bit<8> priority;
    bit<32> length;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    bit<8> m;
    inner_t inner;
    bool flag;
}

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
        if (hdr.data.what == 1) {
            meta.m = 0x11;
            meta.inner.x = 0x22;
            meta.flag = true;
            std.priority = 5;
        }
        hdr.data.setInvalid();
        hdr.data.setValid();
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.m = meta.m;
        hdr.data.inner = meta.inner.x + meta.inner.y;
        hdr.data.flag = meta.flag ? 8w1 : 0;
        hdr.data.priority = (bit<8>) std.priority;
        hdr.data.length = std.packet_length;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
