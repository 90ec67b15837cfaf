// The default value of a varbit is empty: in lists that end with `...`, and as an initialiser.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    varbit<32> rest;
    bit<8> b;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    varbit<32> kept;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data, 16);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        varbit<32> nothing = ...;
        meta.kept = hdr.data.rest;
        if (hdr.data.a == 0) {
            hdr.data = { a = 7, ... };
        } else if (hdr.data.a == 1) {
            hdr.data.rest = nothing;
        } else if (hdr.data.a == 2) {
            hdr.data = { a = 8, b = 9, ... };
            hdr.data.rest = meta.kept;
        } else if (hdr.data.rest == nothing) {
            hdr.data.b = 0xff;
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
