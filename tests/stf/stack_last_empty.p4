// last of a stack that is still empty is StackOutOfBounds; after one extraction it is that element, also after
// others by index.

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
}

struct meta_t {
    bit<8> seen;
}

result_t code(in error e) {
    bit<8> n = e == error.NoError ? 8w0 : e == error.PacketTooShort ? 8w1 : e == error.NoMatch ? 8w2
        : e == error.StackOutOfBounds ? 8w3 : e == error.HeaderTooShort ? 8w4 : e == error.ParserTimeout ? 8w5
        : e == error.ParserInvalidArgument ? 8w6 : 8w0xff;
    return { n };
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(packet.lookahead<bit<8>>()) {
            0: early;
            default: next;
        }
    }

    state early {
        meta.seen = hdr.s.last.x;
        transition next;
    }

    state next {
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        meta.seen = hdr.s.last.x + (bit<8>) hdr.s.lastIndex;
        hdr.s[hdr.s.lastIndex].x = 0x77;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result = code(std.parser_error);
        hdr.result.code = hdr.result.code << 6 | meta.seen;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
