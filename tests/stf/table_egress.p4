// Tables in egress, of the same names as in ingress; a name given by @name; entries removed by remove all.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> ingress_value;
    bit<8> egress_value;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    bit<8> carried;
}

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
    @name("put")
    action set(bit<8> v) {
        hdr.data.ingress_value = v;
        meta.carried = v + 1;
        std.egress_spec = 3;
    }

    table t {
        key = { hdr.data.key : exact @name("by"); }
        actions = { set; }
    }

    apply {
        std.egress_spec = 2;
        t.apply();
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set(bit<8> v) {
        hdr.data.egress_value = v + meta.carried;
    }

    table t {
        key = { std.egress_port : exact; }
        actions = { set; }
        default_action = set(0x70);
    }

    apply {
        t.apply();
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
