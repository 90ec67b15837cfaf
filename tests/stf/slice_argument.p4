// Slices and array elements as `out` and `inout` arguments: which element is fixed before the call.

#include <core.p4>
#include <v1model.p4>

header byte_t {
    bit<8> v;
}

struct headers_t {
    byte_t    index;
    byte_t[3] stack;
    byte_t    word;
}

struct meta_t {}

void bump(inout bit<4> x) {
    x = x + 3;
}

void set(out bit<8> x, inout bit<8> i) {
    i = i + 1;
    x = 0xee;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.index);
        packet.extract(hdr.stack.next);
        packet.extract(hdr.stack.next);
        packet.extract(hdr.stack.next);
        packet.extract(hdr.word);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        bump(hdr.word.v[5:2]);
        set(hdr.stack[hdr.index.v].v, hdr.index.v);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.index);
        packet.emit(hdr.stack);
        packet.emit(hdr.word);
    }
}

#include "frame/pipeline.p4"
