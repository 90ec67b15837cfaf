// varbit fields copied between headers, compared, emptied by an extraction of nothing; the same header twice with
// other lengths.

#include <core.p4>
#include <v1model.p4>

header v_t {
    bit<8>     length;
    varbit<64> data;
    bit<8>     after;
}

header result_t {
    bit<8> equal;
}

struct headers_t {
    result_t result;
    v_t      a;
    v_t      b;
    v_t      c;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.a, (bit<32>) packet.lookahead<bit<8>>() << 3);
        packet.extract(hdr.b, (bit<32>) packet.lookahead<bit<8>>() << 3);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.result.setValid();
        hdr.result.equal = (hdr.a == hdr.b ? 8w1 : 0) + (hdr.a.data == hdr.b.data ? 8w2 : 0);
        if (hdr.a.after == 1) {
            hdr.c = hdr.b;
            hdr.c.after = 0xcc;
        } else if (hdr.a.after == 2) {
            hdr.b.data = hdr.a.data;
        } else if (hdr.a.after == 3) {
            hdr.a = hdr.b;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
