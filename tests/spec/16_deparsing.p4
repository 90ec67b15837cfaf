// Section 16: a deparser emits an Ethernet header and an IP header.
// Section 16.1: invalid headers are skipped; a stack emits its valid elements in order, a struct its fields, a union its valid
// member.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<8> kind;
}

header item_t {
    bit<8> x;
}

header v4_t {
    bit<8> a;
}

header v6_t {
    bit<16> a;
}

header_union ip_t {
    v4_t v4;
    v6_t v6;
}

struct inner_t {
    item_t    first;
    item_t[2] more;
}

struct headers_t {
    ethernet_t ethernet;
    item_t[3]  stack;
    ip_t       ip;
    inner_t    inner;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        switch (hdr.ethernet.kind) {
            1: {
                hdr.stack[0] = { 0x10 };
                hdr.stack[2] = { 0x12 };
                hdr.ip.v6 = { 0x6666 };
            }
            2: {
                hdr.ip.v4 = { 0x44 };
                hdr.inner.first = { 0x20 };
                hdr.inner.more[1] = { 0x22 };
            }
            3: { hdr.ethernet.setInvalid(); }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ip);
        packet.emit(hdr.stack);
        packet.emit(hdr.inner);
        if (hdr.stack[2].isValid()) {
            packet.emit(hdr.stack[2]);
        }
    }
}

#include "../stf/frame/pipeline.p4"
