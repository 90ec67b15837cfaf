// Values wider than a machine word that have been compared with constants, and are computed with afterwards.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<96> a;
    bit<96> b;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    bit<96> kept;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        meta.kept = hdr.data.b;
        transition select(hdr.data.a) {
            7: seven;
            default: accept;
        }
    }
    state seven {
        meta.kept = hdr.data.a * hdr.data.b;
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.data.a == 5) {
            if (hdr.data.what == 0) { hdr.data.b = hdr.data.a * hdr.data.b; }
            if (hdr.data.what == 1) { hdr.data.b = hdr.data.a + hdr.data.b; }
            if (hdr.data.what == 2) { hdr.data.b = hdr.data.a - hdr.data.b; }
            if (hdr.data.what == 3) { hdr.data.b = hdr.data.a |-| hdr.data.b; }
            if (hdr.data.what == 4) { hdr.data.b = hdr.data.b ^ hdr.data.a; }
            if (hdr.data.what == 5) { hdr.data.b = hdr.data.a << 64; }
            if (hdr.data.what == 6) { hdr.data.b = hdr.data.b / hdr.data.a; }
            if (hdr.data.what == 7) { hdr.data.b = hdr.data.a[90:60] ++ hdr.data.b[64:0]; }
        } else if (meta.kept == 3) {
            hdr.data.b = meta.kept * hdr.data.a;
        } else {
            hdr.data.b = meta.kept;
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
