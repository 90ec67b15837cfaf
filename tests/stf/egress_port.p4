// In egress egress_port says where the packet goes; another egress_spec changes nothing, 511 drops, an undone drop
// does not.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<16> port;
    bit<16> spec;
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
    apply {
        std.egress_spec = (bit<9>) hdr.data.port;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.port = (bit<16>) std.egress_port + 1;
        hdr.data.spec = (bit<16>) std.ingress_port;
        switch (hdr.data.what) {
            1: { std.egress_spec = 7; }
            2: { std.egress_spec = 511; }
            3: { mark_to_drop(std); std.egress_spec = std.egress_port; }
            4: { std.mcast_grp = 1; }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
