// Statements in parser states: locals of a state, blocks, conditions, assignments to slices, in the order of the
// text.

#include <core.p4>
#include <v1model.p4>

header a_t {
    bit<8> x;
    bit<8> y;
}

header result_t {
    bit<16> trace;
}

struct headers_t {
    result_t result;
    a_t      a;
}

struct meta_t {
    bit<16> trace;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    bit<16> t = 1;

    state start {
        packet.extract(hdr.a);
        bit<8> local = hdr.a.x;
        {
            bit<8> local2 = local + 1;
            hdr.a.x = local2;
        }
        t[15:8] = hdr.a.x;
        if (hdr.a.y == 0) {
            t = t + 2;
        } else if (hdr.a.y == 1) {
            t = t + 4;
        } else {
            t = t + 8;
        }
        transition select(local, hdr.a.x) {
            (1, 2): two;
            (1, _): start;
            default: done;
        }
    }

    state two {
        bit<8> local = 0x40;
        t = t + (bit<16>) local;
        transition done;
    }

    state done {
        meta.trace = t;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result.setValid();
        hdr.result.trace = meta.trace;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
