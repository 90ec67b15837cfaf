// Statements in parsers: local variables, functions, conditions, run-time indices, setting headers valid, extracting twice.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

struct headers_t {
    item_t    result;
    item_t    op;
    item_t    again;
    item_t[3] items;
}

struct meta_t {
    bit<8> sum;
}

bit<8> double(in bit<8> x) {
    return x + x;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    bit<8> rounds = 0;
    item_t last;

    state start {
        packet.extract(hdr.op);
        hdr.items[2].setValid();
        hdr.items[2].x = 0xcc;
        transition select(hdr.op.x[7:7]) {
            1: twice;
            0: round;
        }
    }

    // The second extract takes the next byte and forgets the first.
    state twice {
        packet.extract(hdr.again);
        packet.extract(hdr.again);
        transition accept;
    }

    state round {
        packet.extract(last);
        if (last.x < 0x10) {
            meta.sum = meta.sum + double(last.x);
        } else {
            meta.sum = meta.sum + 1;
        }
        hdr.items[rounds & 1] = last;
        rounds = rounds + 1;
        transition select(rounds == hdr.op.x) {
            true: accept;
            false: round;
        }
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        hdr.result = { meta.sum };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
