// select on signed numbers, enums, bool, expressions and 128 bits; masks and ranges of each; the first that
// matches is taken.

#include <core.p4>
#include <v1model.p4>

enum bit<8> Kind {
    A = 1,
    B = 2,
    C = 0x80
}

header data_t {
    int<8>   number;
    Kind     kind;
    bit<128> wide;
}

header result_t {
    bit<8> x;
}

struct headers_t {
    result_t result;
    data_t   data;
}

struct meta_t {
    bit<8> r;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.number) {
            -128 .. -2: negative;
            -1: minus_one;
            0 .. 9: small;
            default: big;
        }
    }

    state negative {
        meta.r = 0x10;
        transition kinds;
    }

    state minus_one {
        meta.r = 0x20;
        transition kinds;
    }

    state small {
        meta.r = 0x30;
        transition kinds;
    }

    state big {
        meta.r = 0x40;
        transition kinds;
    }

    state kinds {
        transition select(hdr.data.kind, hdr.data.number == 5) {
            (Kind.A, true): five;
            (Kind.A, _): a;
            (Kind.B, false): b;
            (_, true): five;
            default: wide;
        }
    }

    state five {
        meta.r = meta.r + 5;
        transition accept;
    }

    state a {
        meta.r = meta.r + 1;
        transition wide;
    }

    state b {
        meta.r = meta.r + 2;
        transition wide;
    }

    state wide {
        transition select(hdr.data.wide) {
            0xfedcba98_76543210_00000000_00000001: one;
            0x20010db8_00000000_00000000_00000000 &&& 0xffffffff_00000000_00000000_00000000: prefix;
            0x1_00000000_00000000 .. 0x2_00000000_00000000: range;
            default: accept;
        }
    }

    state one {
        meta.r = meta.r | 0x80;
        transition accept;
    }

    state prefix {
        meta.r = meta.r | 0x88;
        transition accept;
    }

    state range {
        meta.r = meta.r | 0x0f;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result.setValid();
        hdr.result.x = meta.r;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
