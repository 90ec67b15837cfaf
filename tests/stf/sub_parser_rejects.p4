// What a sub-parser assigned before the packet is rejected stays, whether its parameters are copies or not: different variables, one
// variable twice, slices, a union's member, parsers in parsers.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> which;
    bit<8> x;
    bit<8> y;
}

header a_t {
    bit<8> v;
}

header b_t {
    bit<8> v;
}

header_union u_t {
    a_t a;
    b_t b;
}

struct headers_t {
    data_t data;
    u_t    u;
}

struct meta_t {
    bit<8> x;
    bit<8> y;
}

parser Sub(packet_in packet, inout bit<8> a, inout bit<8> b) {
    state start {
        a = 0x11;
        b = 0x22;
        verify(false, error.NoMatch);
        transition accept;
    }
}

parser Nested(packet_in packet, inout bit<4> a, out bit<8> b) {
    Sub() inner;

    state start {
        a = 7;
        b = 0x33;
        inner.apply(packet, b, b);
        a = 1;
        transition accept;
    }
}

parser Member(packet_in packet, out b_t h) {
    state start {
        packet.extract(h);
        packet.advance(8000);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Sub() one;
    Sub() two;
    Sub() three;
    Nested() four;
    Member() five;

    state start {
        packet.extract(hdr.data);
        packet.extract(hdr.u.a);
        transition select(hdr.data.which) {
            1: different;
            2: same;
            3: sliced;
            4: nested;
            5: member;
            default: accept;
        }
    }

    state different {
        one.apply(packet, meta.x, meta.y);
        transition accept;
    }

    state same {
        two.apply(packet, meta.x, meta.x);
        transition accept;
    }

    state sliced {
        three.apply(packet, meta.x[7:0], meta.y[7:0]);
        transition accept;
    }

    state nested {
        four.apply(packet, meta.x[3:0], meta.y);
        transition accept;
    }

    state member {
        five.apply(packet, hdr.u.b);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.data.x = meta.x;
        hdr.data.y = meta.y;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
