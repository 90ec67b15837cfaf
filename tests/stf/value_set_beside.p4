// Value sets beside other sets: with constants, with each other, and in a select that compares with what is no constant.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> way;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    bit<8> way;
}

struct both_t {
    bit<8> a;
    bit<8> b;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<8>>(4) small;
    value_set<bit<8>>(4) large;
    value_set<both_t>(4) pairs;

    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.a, hdr.data.b) {
            (small, large): one;
            (small, 5): two;
            pairs: three;
            (_, small): four;
            (7, 7): five;
            default: next;
        }
    }
    state next {
        transition select(hdr.data.a) {
            hdr.data.b: six;
            large: seven;
            default: accept;
        }
    }
    state one { meta.way = 1; transition accept; }
    state two { meta.way = 2; transition accept; }
    state three { meta.way = 3; transition accept; }
    state four { meta.way = 4; transition accept; }
    state five { meta.way = 5; transition accept; }
    state six { meta.way = 6; transition accept; }
    state seven { meta.way = 7; transition accept; }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.data.way = meta.way;
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
