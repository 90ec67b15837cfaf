// What the parser learns goes to ingress by metadata: structs, bool, enums, errors, headers kept in metadata are
// never emitted.

#include <core.p4>
#include <v1model.p4>

enum Kind {
    None,
    Short,
    Long
}

header data_t {
    bit<8> a;
    bit<8> r;
}

struct found_t {
    bool    flag;
    Kind    kind;
    bit<33> wide;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    found_t found;
    data_t  ahead;
    error   before;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        meta.before = std.parser_error;
        meta.found = { hdr.data.a == 1, hdr.data.a < 4 ? Kind.Short : Kind.Long, 33w1 << 32 };
        transition select(hdr.data.a) {
            7: kept;
            default: accept;
        }
    }

    state kept {
        packet.extract(meta.ahead);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.data.r = (meta.found.flag ? 8w1 : 0) + (meta.found.kind == Kind.Short ? 8w2 : meta.found.kind == Kind.Long ? 8w4 : 0)
            + (bit<8>) (meta.found.wide >> 29) + (meta.before == error.NoError ? 8w0x10 : 0);
        if (meta.ahead.isValid()) {
            hdr.data.r = hdr.data.r + meta.ahead.r;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
