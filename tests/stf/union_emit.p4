// Unions, stacks of unions and nested structs emitted with one emit; what is invalid leaves no trace.

#include <core.p4>
#include <v1model.p4>

header a_t {
    bit<8> tag;
    bit<8> x;
}

header b_t {
    bit<8>  tag;
    bit<16> y;
}

header_union u_t {
    a_t a;
    b_t b;
}

struct headers_t {
    u_t    first;
    u_t[3] more;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(packet.lookahead<bit<8>>()) {
            0xa: first_a;
            0xb: first_b;
            default: accept;
        }
    }

    state first_a {
        packet.extract(hdr.first.a);
        transition more;
    }

    state first_b {
        packet.extract(hdr.first.b);
        transition more;
    }

    state more {
        transition select(packet.lookahead<bit<8>>()) {
            0xa: more_a;
            0xb: more_b;
            default: accept;
        }
    }

    state more_a {
        packet.extract(hdr.more.next.a);
        transition more;
    }

    state more_b {
        packet.extract(hdr.more.next.b);
        transition more;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.more[1].a.isValid()) {
            bit<8> x = hdr.more[1].a.x;
            hdr.more[1].b.setValid();
            hdr.more[1].b.tag = 0xb;
            hdr.more[1].b.y = (bit<16>) x;
        }
        if (hdr.first.b.isValid()) {
            hdr.first.b.setInvalid();
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
