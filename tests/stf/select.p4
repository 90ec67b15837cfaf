// select: several keys, masks, ranges, don't-care, first match wins.

#include <core.p4>
#include <v1model.p4>

header key_t {
    bit<8>  a;
    bit<16> b;
}

header result_t {
    bit<8> state;
}

struct headers_t {
    result_t result;
    key_t    key;
}

struct meta_t {
    bit<8> state;
}

const bit<8> SPECIAL = 0x99;

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.key);
        transition select(hdr.key.a, hdr.key.b) {
            (1, 0x1234): exact;
            (2 .. 5, _): in_range;
            (0x10 &&& 0xf0, 0x00ff &&& 0x0fff): masked;
            (SPECIAL, default): special;
            (0x10 &&& 0xf0, 0x1000 .. 0x1fff): mixed;
            (0x80 &&& 0x80, _): single;
            default: nothing;
        }
    }

    state exact { meta.state = 1; transition accept; }
    state in_range { meta.state = 2; transition accept; }
    state masked { meta.state = 3; transition accept; }
    state special { meta.state = 4; transition accept; }
    state mixed { meta.state = 5; transition accept; }
    state nothing { meta.state = 6; transition accept; }

    state single {
        transition select(hdr.key.b[3:0], (bit<1>)(hdr.key.a == 0x80)) {
            (1, 1): one;
            (1, 0): two;
            (_, _): three;
        }
    }

    state one { meta.state = 0x11; transition accept; }
    state two { meta.state = 0x12; transition accept; }
    state three { meta.state = 0x13; transition accept; }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result = { meta.state };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
