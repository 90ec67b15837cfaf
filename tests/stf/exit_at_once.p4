// exit in ingress still leads to egress; exit in egress to the deparser; drop before exit holds; a clone asked for
// before exit is made.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> a;
    bit<8> b;
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
    action leave() {
        exit;
    }

    apply {
        std.egress_spec = 2;
        if (hdr.data.what == 1) {
            exit;
        } else if (hdr.data.what == 2) {
            mark_to_drop(std);
            leave();
        }
        hdr.data.a = 1;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.b = 1;
        if (hdr.data.what == 3) {
            exit;
        } else if (hdr.data.what == 4) {
            mark_to_drop(std);
            exit;
        }
        hdr.data.b = 2;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
