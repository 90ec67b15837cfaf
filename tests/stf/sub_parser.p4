// Sub-parsers: applied twice, with parameters of each direction, extracting into what the caller passes.

#include <core.p4>
#include <v1model.p4>

header label_t {
    bit<8> kind;
    bit<8> x;
}

header result_t {
    bit<8> sum;
    bit<8> stopped;
}

struct headers_t {
    result_t result;
    label_t  outer;
    label_t  inner;
}

struct meta_t {
    bit<8> sum;
    bit<8> stopped;
}

parser Label(packet_in packet, out label_t label, inout bit<8> sum, in bit<8> forbidden)(bit<8> constant) {
    bit<8> local = constant;

    state start {
        packet.extract(label);
        transition select(label.kind) {
            0: add;
            default: check_kind;
        }
    }

    state check_kind {
        verify(label.kind != forbidden, error.ParserInvalidArgument);
        transition add;
    }

    state add {
        sum = sum + label.x + local;
        local = 0;
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Label(0x10) by_sixteen;
    Label(0x01) by_one;

    state start {
        meta.stopped = 1;
        by_sixteen.apply(packet, hdr.outer, meta.sum, 3);
        transition select(hdr.outer.kind) {
            1: more;
            2: same;
            default: done;
        }
    }

    state more {
        by_one.apply(packet, hdr.inner, meta.sum, hdr.outer.x);
        transition done;
    }

    state same {
        by_sixteen.apply(packet, hdr.inner, meta.sum, 4);
        transition done;
    }

    state done {
        meta.stopped = 0;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result = { meta.sum, meta.stopped };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
