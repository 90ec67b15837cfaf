// A parser error stops the parser; ingress sees it in parser_error, and the bytes not parsed are payload.

#include <core.p4>
#include <v1model.p4>

error {
    OddVersion,
    Forbidden
}

header first_t {
    bit<4> version;
    bit<4> kind;
}

header second_t {
    bit<16> x;
}

header result_t {
    bit<8> error_number;
    bit<8> seen;
}

struct headers_t {
    result_t result;
    first_t  first;
    second_t second;
}

struct meta_t {
    bit<8> seen;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.first);
        meta.seen = 1;
        verify(hdr.first.version != 0xf && hdr.first.kind != 0xf, error.Forbidden);
        meta.seen = 2;
        verify((hdr.first.version & 1) == 0, error.OddVersion);
        meta.seen = 3;
        transition select(hdr.first.kind) {
            0: accept;
            1: second;
            2: reject;
        }
    }

    state second {
        packet.extract(hdr.second);
        meta.seen = 4;
        transition accept;
    }
}

bit<8> number(in error e) {
    if (e == error.NoError) {
        return 0;
    } else if (e == error.PacketTooShort) {
        return 1;
    } else if (e == error.OddVersion) {
        return 2;
    } else if (e == error.Forbidden) {
        return 3;
    }
    return 0xff;
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result = { number(std.parser_error), meta.seen };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
