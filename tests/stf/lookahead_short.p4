// lookahead beyond the end is PacketTooShort, at the end it is not; it takes nothing, and headers looked at are
// not in the packet.

#include <core.p4>
#include <v1model.p4>

header result_t {
    bit<8> code;
}

header seen_t {
    bit<40> v;
}

header a_t {
    bit<8> x;
}

struct headers_t {
    result_t result;
    seen_t   seen;
    a_t      a;
}

struct meta_t {
    bit<40> seen;
}

result_t code(in error e) {
    bit<8> n = e == error.NoError ? 8w0 : e == error.PacketTooShort ? 8w1 : e == error.NoMatch ? 8w2
        : e == error.StackOutOfBounds ? 8w3 : e == error.HeaderTooShort ? 8w4 : e == error.ParserTimeout ? 8w5
        : e == error.ParserInvalidArgument ? 8w6 : 8w0xff;
    return { n };
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.a);
        meta.seen = 1;
        bit<16> two = packet.lookahead<bit<16>>();
        meta.seen = (bit<40>) two;
        transition select(two[15:12]) {
            0: accept;
            1: five;
            default: ahead;
        }
    }

    state five {
        meta.seen = packet.lookahead<bit<40>>();
        transition accept;
    }

    state ahead {
        a_t first = packet.lookahead<a_t>();
        packet.advance(8);
        a_t second = packet.lookahead<a_t>();
        meta.seen = 16w3 ++ first.x ++ second.x ++ (first.isValid() ? 8w1 : 0);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result = code(std.parser_error);
        hdr.seen.setValid();
        hdr.seen.v = meta.seen;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
