// An index of a stack in an argument is evaluated once, before the call; copying out goes to the same element.

#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> index;
}

header item_t {
    bit<8> x;
}

struct headers_t {
    op_t      op;
    item_t[3] items;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        transition accept;
    }
}

bit<8> step(inout bit<8> index) {
    index = index + 1;
    return index;
}

void change(inout bit<8> index, inout bit<8> item) {
    index = index + 1;
    item = item + 0x10;
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        bit<8> i = hdr.op.index;
        // Adds to the element that i names before the call.
        change(i, hdr.items[i].x);

        hdr.items[i].x[3:0] = 0xf;
        i = 0xff;
        // The left side first: items[0] becomes items[1] + 1.
        hdr.items[step(i)].x = hdr.items[step(i)].x + 1;
        hdr.op.index = i;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
