// `?:` of varbits: the result has the size of the side that is chosen, also as an initialiser and in a comparison.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> which;
    bit<8> equal;
}

header opt_t {
    bit<8>     size;
    varbit<64> o;
}

struct headers_t {
    data_t data;
    opt_t  a;
    opt_t  b;
    opt_t  c;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        packet.extract(hdr.a, 16);
        packet.extract(hdr.b, 24);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        varbit<64> chosen = hdr.data.which[0:0] == 1 ? hdr.a.o : hdr.b.o;
        hdr.data.equal = chosen == hdr.a.o ? 8w1 : 2;
        hdr.c.setValid();
        hdr.c.size = 0xcc;
        hdr.c.o = hdr.data.which < 2 ? chosen : (hdr.data.which == 2 ? hdr.a.o : hdr.c.o);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
        packet.emit(hdr.c);
    }
}

#include "frame/pipeline.p4"
