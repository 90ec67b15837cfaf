// Timestamps: the same in all of ingress, later packets are not earlier, egress is not before ingress, a
// resubmitted packet is one.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> same;
    bit<8> later;
    bit<8> egress;
    bit<8> enqueued;
    bit<8> nonzero;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    bit<48> at_start;
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
    register<bit<48>>(1) last;

    apply {
        std.egress_spec = 2;
        bit<48> before;
        last.read(before, 0);
        meta.at_start = std.ingress_global_timestamp;
        last.write(0, meta.at_start);
        hdr.data.later = meta.at_start >= before ? 8w1 : 0;
        hdr.data.same = meta.at_start == std.ingress_global_timestamp ? 8w1 : 0;
        hdr.data.nonzero = before != 0 ? 8w1 : 0;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.egress = std.egress_global_timestamp >= std.ingress_global_timestamp ? 8w1 : 0;
        hdr.data.enqueued = std.enq_timestamp >= std.ingress_global_timestamp[31:0] ? 8w1 : 0;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
