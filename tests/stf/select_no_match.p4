// A select in which nothing matches ends the parser without error; an explicit reject too; both leave the rest as
// payload.

#include <core.p4>
#include <v1model.p4>

header result_t {
    bit<8> code;
}

header a_t {
    bit<8> x;
}

struct headers_t {
    result_t result;
    a_t      a;
    a_t      b;
}

struct meta_t {
    bit<8> trace;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.a);
        meta.trace = 0x10;
        transition select(hdr.a.x) {
            1: more;
            2: reject;
            3 &&& 0xf3: more;
        }
    }

    state more {
        packet.extract(hdr.b);
        meta.trace = 0x20;
        transition select(hdr.b.x, hdr.a.x) {
            (5, 1): reject;
            (_, 7): reject;
        }
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result.setValid();
        hdr.result.code = meta.trace + (std.parser_error == error.NoError ? 8w0 : 1);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
