// mark_to_drop in ingress and egress, undone by a later egress_spec; without a decision the packet goes to port 0.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> egress_port;
    bit<8> ran;
}

struct headers_t {
    data_t data;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }

    apply {
        hdr.data.ran = 1;
        switch (hdr.data.what) {
            0: { drop(); }
            1: { drop(); std.egress_spec = 2; }
            2: { std.egress_spec = 511; }
            3: {}                                       // to port 0
            4: { std.egress_spec = 3; exit; }
            5: { drop(); exit; }
            default: { std.egress_spec = 2; }
        }
        hdr.data.ran = hdr.data.ran | 2;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.ran = hdr.data.ran | 4;
        hdr.data.egress_port = (bit<8>)std.egress_port;
        switch (hdr.data.what) {
            6: { mark_to_drop(std); }
            7: { std.egress_spec = 1; }                 // too late to go elsewhere
            8: { std.egress_spec = 511; }
            9: { mark_to_drop(std); std.egress_spec = 0; }
            10: { exit; }
            11: { return; }
        }
        hdr.data.ran = hdr.data.ran | 8;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
