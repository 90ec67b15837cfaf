// A stack shifted in the parser or assigned from another goes on with next where the counting says.

#include <core.p4>
#include <v1model.p4>

header result_t {
    bit<8> code;
}

header s_t {
    bit<8> x;
}

struct headers_t {
    result_t result;
    s_t[3]   s;
    s_t[3]   copy;
}

struct meta_t {
    bit<8> index;
}

result_t code(in error e) {
    bit<8> n = e == error.NoError ? 8w0 : e == error.PacketTooShort ? 8w1 : e == error.NoMatch ? 8w2
        : e == error.StackOutOfBounds ? 8w3 : e == error.HeaderTooShort ? 8w4 : e == error.ParserTimeout ? 8w5
        : e == error.ParserInvalidArgument ? 8w6 : 8w0xff;
    return { n };
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        hdr.copy = hdr.s;
        packet.extract(hdr.copy.next);
        meta.index = (bit<8>) hdr.copy.lastIndex << 4 | (bit<8>) hdr.s.lastIndex;
        transition select(hdr.s[0].x) {
            1: more;
            default: accept;
        }
    }

    state more {
        packet.extract(hdr.copy.next);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result = code(std.parser_error);
        hdr.result.code = hdr.result.code << 6 | meta.index;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
