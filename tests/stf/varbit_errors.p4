// varbit lengths that are too long, not whole bytes or beyond the packet; the header stays invalid and nothing is
// taken.

#include <core.p4>
#include <v1model.p4>

header result_t {
    bit<8> code;
}

header v_t {
    bit<8>     x;
    varbit<24> data;
}

header first_t {
    bit<8> length;
}

struct headers_t {
    result_t result;
    first_t  first;
    v_t      v;
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
        packet.extract(hdr.first);
        packet.extract(hdr.v, (bit<32>) hdr.first.length);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result = code(std.parser_error);
        if (hdr.v.isValid()) {
            hdr.v.x = hdr.v.x + 1;
            hdr.result.code = 0x80;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
