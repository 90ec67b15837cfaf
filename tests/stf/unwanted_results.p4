// `_` for results of externs: they take effect, and their results are dropped.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
}

struct headers_t {
    data_t data;
}

struct meta_t {
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
    meter(1, MeterType.packets) limit;
    register<bit<8>>(1) cell;
    apply {
        std.egress_spec = 2;
        limit.execute_meter<bit<2>>(0, _);
        limit.execute_meter(0, hdr.data.b);
        cell.read(_, 0);
        random<bit<8>>(_, 1, 2);
        hash<bit<16>, bit<16>, tuple<bit<8>>, bit<32>>(_, HashAlgorithm.crc16, 0, { hdr.data.a }, 1);
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
