// lookahead reads ahead without moving, also values and headers of several fields; advance skips bits.

#include <core.p4>
#include <v1model.p4>

header first_t {
    bit<8> kind;
}

header pair_t {
    bit<4> high;
    bit<4> low;
    bit<8> second;
}

header result_t {
    bit<8>  ahead;
    bit<16> more;
    bit<8>  nibbles;
    bit<8>  from_header;
    bit<8>  length;
}

struct headers_t {
    result_t result;
    first_t  first;
    pair_t   pair;
}

struct meta_t {
    bit<8>  ahead;
    bit<16> more;
    bit<8>  nibbles;
    bit<8>  from_header;
    bit<8>  length;
}

struct nibbles_t {
    bit<4> a;
    bit<4> b;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        meta.length = (bit<8>)packet.length();
        meta.ahead = packet.lookahead<bit<8>>();
        meta.more = (bit<16>)packet.lookahead<bit<12>>();
        nibbles_t n = packet.lookahead<nibbles_t>();
        meta.nibbles = n.b ++ n.a;
        pair_t p = packet.lookahead<pair_t>();
        meta.from_header = p.second;
        transition select(packet.lookahead<bit<8>>()[7:4]) {
            0: one;
            1: skip;
            default: accept;
        }
    }

    state one {
        packet.extract(hdr.first);
        transition accept;
    }

    state skip {
        packet.extract(hdr.first);
        packet.advance(((bit<32>)hdr.first.kind & 0xf) << 3);
        packet.extract(hdr.pair);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result = { meta.ahead, meta.more, meta.nibbles, meta.from_header, meta.length };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
