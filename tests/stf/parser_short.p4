// Packets that end before, at and inside each header: what was extracted before is valid, nothing is taken of what
// is cut.

#include <core.p4>
#include <v1model.p4>

header result_t {
    bit<8> code;
}

header a_t {
    bit<16> x;
}

header b_t {
    bit<24> y;
}

struct headers_t {
    result_t result;
    a_t      a;
    b_t      b;
}

struct meta_t {}

result_t code(in error e) {
    bit<8> n = e == error.NoError ? 8w0 : e == error.PacketTooShort ? 8w1 : e == error.NoMatch ? 8w2
        : e == error.StackOutOfBounds ? 8w3 : e == error.HeaderTooShort ? 8w4 : e == error.ParserTimeout ? 8w5
        : e == error.ParserInvalidArgument ? 8w6 : 8w0xff;
    return { n };
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.a);
        packet.extract(hdr.b);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result = code(std.parser_error);
        if (!hdr.a.isValid()) {
            hdr.result.code = hdr.result.code | 0x80;
        }
        if (!hdr.b.isValid()) {
            hdr.result.code = hdr.result.code | 0x40;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
