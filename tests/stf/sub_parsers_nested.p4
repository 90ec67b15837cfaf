// Sub-parsers in sub-parsers: locals start anew each time they are applied, constructor arguments, out and inout
// parameters.

#include <core.p4>
#include <v1model.p4>

header a_t {
    bit<8> x;
}

header result_t {
    bit<8> sum;
    bit<8> calls;
    bit<8> last;
}

struct headers_t {
    result_t result;
    a_t[4]   a;
}

struct meta_t {
    bit<8> sum;
    bit<8> calls;
    bit<8> last;
}

parser Inner(packet_in packet, out a_t h, out bit<8> value)(bit<8> factor) {
    bit<8> count = 0;

    state start {
        packet.extract(h);
        transition select(h.x) {
            0xff: none;
            default: some;
        }
    }

    state none {
        transition accept;
    }

    state some {
        count = count + h.x;
        value = count * factor;
        transition accept;
    }
}

parser Outer(packet_in packet, out a_t first, out a_t second, inout bit<8> sum, out bit<8> last)(bit<8> factor) {
    Inner(factor) inner;

    state start {
        bit<8> value;
        inner.apply(packet, first, value);
        sum = sum + value;
        inner.apply(packet, second, value);
        sum = sum + value;
        last = sum;
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Outer(3) by_three;
    Outer(5) by_five;

    state start {
        by_three.apply(packet, hdr.a[0], hdr.a[1], meta.sum, meta.last);
        by_five.apply(packet, hdr.a[2], hdr.a[3], meta.sum, meta.last);
        meta.calls = meta.calls + 1;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result = { meta.sum, meta.calls, meta.last };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
