// Headers of some hundred bytes that one pass adds: a long header, a stack, headers of variable length.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> op;
    bit<8> length;           // of the options
}

header long_t { bit<1600> x; }
header tag_t { bit<160> x; }
header options_t { varbit<1200> bits; }

struct headers_t {
    data_t    data;
    long_t    long;
    tag_t[12] tags;
    options_t first;
    options_t second;
    options_t options;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        packet.extract(hdr.options, (bit<32>) hdr.data.length * 8);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.data.op[0:0] == 1) {
            hdr.long.setValid();
            hdr.long.x = 7;
        }
        if (hdr.data.op[1:1] == 1) {
            for (bit<160> i in 160w1 .. 160w12) {
                hdr.tags.push_front(1);
                hdr.tags[0].setValid();
                hdr.tags[0].x = i;
            }
        }
        if (hdr.data.op[2:2] == 1) {
            hdr.first = hdr.options;
            hdr.second = hdr.options;
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
