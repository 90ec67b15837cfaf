// verify with errors of the program; the first that fails stops the parser where it stands; sub-parsers hand
// theirs up.

#include <core.p4>
#include <v1model.p4>

header result_t {
    bit<8> code;
}

header a_t {
    bit<8> x;
}

error {
    TooBig,
    Odd
}

struct headers_t {
    result_t result;
    a_t      a;
    a_t      b;
}

struct meta_t {
    bit<8> trace;
}

parser Inner(packet_in packet, out a_t h) {
    state start {
        packet.extract(h);
        verify(h.x[0:0] == 0, error.Odd);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Inner() inner;

    state start {
        packet.extract(hdr.a);
        verify(hdr.a.x != 0xff, error.ParserInvalidArgument);
        verify(hdr.a.x < 0x80, error.TooBig);
        meta.trace = 1;
        inner.apply(packet, hdr.b);
        meta.trace = meta.trace + 2;
        verify(hdr.a.x + hdr.b.x != 0, error.NoMatch);
        meta.trace = meta.trace + 4;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result.setValid();
        if (std.parser_error == error.NoError) {
            hdr.result.code = 0;
        } else if (std.parser_error == error.TooBig) {
            hdr.result.code = 1;
        } else if (std.parser_error == error.Odd) {
            hdr.result.code = 2;
        } else if (std.parser_error == error.NoMatch) {
            hdr.result.code = 3;
        } else if (std.parser_error == error.ParserInvalidArgument) {
            hdr.result.code = 4;
        } else {
            hdr.result.code = 0xe;
        }
        hdr.result.code = hdr.result.code << 4 | meta.trace;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
