// out parameters start as zero here, headers invalid; they are written back even where the callee returns early.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

header extra_t {
    bit<8> x;
}

struct headers_t {
    data_t  data;
    extra_t extra;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.what[7:7]) {
            0: accept;
            1: more;
        }
    }

    state more {
        packet.extract(hdr.extra);
        transition accept;
    }
}

bool early(in bit<8> what, out bit<8> x, out extra_t extra) {
    bool was_valid = extra.isValid();
    if (what[0:0] == 1) {
        return was_valid;
    }
    x = 0x55;
    extra = { 0x66 };
    return was_valid;
}

control Written(out bit<8> x, in bit<8> what) {
    apply {
        if (what[1:1] == 1) {
            return;
        }
        x = what;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Written() written;

    apply {
        std.egress_spec = std.ingress_port;
        bool was_valid = early(hdr.data.what, hdr.data.a, hdr.extra);
        written.apply(hdr.data.b, hdr.data.what);
        hdr.data.result = (bit<8>)(bit<1>)was_valid;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
