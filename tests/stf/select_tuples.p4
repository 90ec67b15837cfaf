// `select` on tuples, structs and lists of expressions, alone and among other keys; sets that are lists, `default` or values
// of the same type.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

header result_t {
    bit<8> state;
}

struct headers_t {
    result_t result;
    data_t   data;
}

struct pair_t {
    bit<8> x;
    bit<8> y;
}

struct meta_t {
    bit<8> state;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    pair_t pair;
    tuple<bit<8>, bit<8>> both;

    state start {
        packet.extract(hdr.data);
        pair = { hdr.data.a, hdr.data.b };
        both = { hdr.data.b, hdr.data.c };
        transition select(hdr.data.a, { hdr.data.b, hdr.data.c }) {
            (1, { 2, 3 }): one;
            (1, { hdr.data.a + 1, 4 }): two;
            (2, default): three;
            (3, { 4, 0xf1 }): four;
            (4, both): alone;
            default: last;
        }
    }

    state alone {
        transition select(pair) {
            { 4, 1 }: one;
            (4, 2): two;
            (4, 3 .. 5): three;
            _: accept;
        }
    }

    state last {
        transition select(hdr.data.c, pair, both) {
            (7, { 9, 9 }, _): one;
            (hdr.data.b, pair, { 8, 8 }): two;
            default: accept;
        }
    }

    state one {
        meta.state = 1;
        transition accept;
    }

    state two {
        meta.state = 2;
        transition accept;
    }

    state three {
        meta.state = 3;
        transition accept;
    }

    state four {
        meta.state = 4;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result = { meta.state };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
