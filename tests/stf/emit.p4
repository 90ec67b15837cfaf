// The deparser emits valid headers in its order, a header as often as it says, under conditions, and the rest as payload.

#include <core.p4>
#include <v1model.p4>

header small_t {
    bit<8> x;
}

struct inner_t {
    small_t    first;
    small_t[2] pair;
}

struct headers_t {
    small_t op;
    inner_t inner;
    small_t tail;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        packet.extract(hdr.inner.first);
        packet.extract(hdr.inner.pair[0]);
        packet.extract(hdr.inner.pair[1]);
        packet.extract(hdr.tail);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        if (hdr.op.x[0:0] == 1) {
            hdr.inner.pair[0].setInvalid();
        }
    }
}

control EmitInner(packet_out packet, in inner_t inner) {
    apply {
        packet.emit(inner.pair);
        packet.emit(inner.first);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    EmitInner() emit_inner;

    apply {
        packet.emit(hdr.tail);
        if (hdr.op.x[1:1] == 1) {
            emit_inner.apply(packet, hdr.inner);
        } else {
            packet.emit(hdr.inner);
        }
        packet.emit(hdr.tail);
    }
}

#include "frame/pipeline.p4"
