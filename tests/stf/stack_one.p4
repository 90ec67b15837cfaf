// A stack of one element: next once, then StackOutOfBounds; push and pop make it empty.

#include <core.p4>
#include <v1model.p4>

header result_t {
    bit<8> code;
}

header s_t {
    bit<8> more;
}

struct headers_t {
    result_t result;
    s_t[1]   s;
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
        meta.index = (bit<8>) hdr.s.lastIndex;
        transition select(hdr.s.last.more) {
            1: start;
            default: accept;
        }
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result = code(std.parser_error);
        hdr.result.code = hdr.result.code + (meta.index << 4);
        if (hdr.s[0].more == 2) {
            hdr.s.pop_front(1);
        } else if (hdr.s[0].more == 3) {
            hdr.s.push_front(1);
            hdr.s[0].setValid();
            hdr.s[0].more = 0x33;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
