// Section 13.2: a parser with constants, variables and an instance of another parser before its states.
// Section 13.3: it begins in `start` and ends in `accept` or `reject`; v1model goes on with the packet in both cases.
// Section 13.4: states with declarations, assignments, calls, conditions and blocks, executed in order.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> kind;
    bit<8> trace;
}

header extra_t {
    bit<8> x;
}

struct headers_t {
    data_t  data;
    extra_t extra;
}

struct meta_t { }

parser Extra(packet_in packet, out extra_t extra) {
    state start {
        packet.extract(extra);
        transition accept;
    }
}

bit<8> twice(in bit<8> x) {
    return x + x;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    const bit<8> STEP = 1;
    bit<8> steps = STEP;
    Extra() extra;

    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.kind) {
            1: with_extra;
            2: rejected;
            default: plain;
        }
    }

    state with_extra {
        bit<8> before = steps;
        extra.apply(packet, hdr.extra);
        {
            bit<8> inner = hdr.extra.x;
            steps = steps + inner;
        }
        if (before == STEP) {
            steps = twice(steps);
        } else {
            steps = 0;
        }
        ;
        transition plain;
    }

    state plain {
        hdr.data.trace = steps;
        transition accept;
    }

    state rejected {
        hdr.data.trace = 0xff;
        transition reject;
    }
}

#include "frame/parsed.p4"
