// Enums with an underlying type: in headers, unknown values, select, switch, casts both ways, arithmetic after a cast.

#include <core.p4>
#include <v1model.p4>

enum bit<8> Kind {
    PING = 1,
    PONG = 2,
    LAST = 0xff
}

header data_t {
    Kind   kind;
    bit<8> seen;
    Kind   answer;
    bit<8> number;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    bit<8> from_parser;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.kind) {
            Kind.PING: ping;
            Kind.PONG: pong;
            default: accept;
        }
    }
    state ping {
        meta.from_parser = 0xa;
        transition accept;
    }
    state pong {
        meta.from_parser = 0xb;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.data.seen = meta.from_parser;
        switch (hdr.data.kind) {
            Kind.PING: { hdr.data.answer = Kind.PONG; }
            Kind.PONG: { hdr.data.answer = Kind.PING; }
            default: { hdr.data.answer = (Kind) 0x7e; }
        }
        hdr.data.number = (bit<8>) hdr.data.kind + 1;
        if (hdr.data.kind == Kind.LAST) {
            hdr.data.seen = 0xff;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

#include "frame/pipeline.p4"
