// Skipping headers with extract(_), advancing, extracting into a stack by index, several varbit headers.

#include <core.p4>
#include <v1model.p4>

header byte_t {
    bit<8> x;
}

header var_t {
    bit<8>     bits;
    varbit<16> data;
}

struct headers_t {
    byte_t    result;
    byte_t    op;
    byte_t[2] bytes;
    var_t[2]  vars;
}

struct meta_t {
    bit<8> nibble;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        transition select(hdr.op.x[7:4]) {
            0: skip_header;
            1: skip_bits;
            2: by_index;
            3: vars;
        }
    }

    state skip_header {
        packet.extract<byte_t>(_);
        packet.extract(hdr.bytes.next);
        transition accept;
    }

    state skip_bits {
        packet.advance(16);
        meta.nibble = (bit<8>)packet.lookahead<bit<4>>();
        // Packets are parsed in whole bytes, like v1model's reference does.
        packet.advance(4);
        transition accept;
    }

    state by_index {
        packet.extract(hdr.bytes[hdr.op.x & 0xf]);
        transition accept;
    }

    state vars {
        packet.extract(hdr.vars.next, (bit<32>)packet.lookahead<bit<8>>());
        packet.extract(hdr.vars.next, (bit<32>)packet.lookahead<bit<8>>());
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result = { meta.nibble };
        if (std.parser_error == error.ParserInvalidArgument) {
            hdr.result.x[7:4] = 0xe;
        }
        if (hdr.op.x == 0x31) {
            hdr.vars[0] = hdr.vars[1];
        } else if (hdr.op.x == 0x32) {
            hdr.result.x = (bit<8>)(bit<1>)(hdr.vars[0] == hdr.vars[1]);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
