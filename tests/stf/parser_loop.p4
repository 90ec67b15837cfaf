// A loop in the parser with a counter in metadata: type, length and value, until an end mark, the end of the
// packet or too many.

#include <core.p4>
#include <v1model.p4>

header result_t {
    bit<8> code;
}

header tlv_t {
    bit<8> kind;
    bit<8> length;
}

header sums_t {
    bit<8>  turns;
    bit<16> skipped;
}

struct headers_t {
    result_t result;
    sums_t   sums;
}

struct meta_t {
    bit<8>  turns;
    bit<16> skipped;
}

result_t code(in error e) {
    bit<8> n = e == error.NoError ? 8w0 : e == error.PacketTooShort ? 8w1 : e == error.NoMatch ? 8w2
        : e == error.StackOutOfBounds ? 8w3 : e == error.HeaderTooShort ? 8w4 : e == error.ParserTimeout ? 8w5
        : e == error.ParserInvalidArgument ? 8w6 : 8w0xff;
    return { n };
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    tlv_t tlv;

    state start {
        transition select(packet.lookahead<bit<8>>()) {
            0: last;
            default: option;
        }
    }

    state option {
        packet.extract(tlv);
        meta.turns = meta.turns + 1;
        verify(meta.turns < 5, error.ParserTimeout);
        packet.advance((bit<32>) tlv.length << 3);
        meta.skipped = meta.skipped + (bit<16>) tlv.length;
        transition start;
    }

    state last {
        packet.advance(8);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result = code(std.parser_error);
        hdr.sums = { meta.turns, meta.skipped };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
