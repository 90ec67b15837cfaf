// mark_to_drop, egress_spec and mcast_grp: what is written last counts, and mark_to_drop clears the group.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
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
        switch (hdr.data.what) {
            1: { mark_to_drop(std); }
            2: { mark_to_drop(std); std.egress_spec = 3; }
            3: { std.egress_spec = 3; mark_to_drop(std); }
            4: { std.mcast_grp = 1; mark_to_drop(std); }
            5: { mark_to_drop(std); std.mcast_grp = 1; }
            6: { std.egress_spec = 511; }
            7: { std.egress_spec = 511; std.mcast_grp = 1; }
            8: { mark_to_drop(std); std.egress_spec = std.egress_spec + 4; }
            9: { std.egress_spec = 510; }
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {

    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
