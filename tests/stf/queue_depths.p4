// Queue metadata where nothing waits: depths and time are zero in egress, whatever the program wrote before.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> to;
    bit<24> enqueued;
    bit<24> dequeued;
    bit<32> time;
    bit<8> same;
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
        std.egress_spec = (bit<9>)hdr.data.to;
        std.enq_qdepth = 5;
        std.deq_qdepth = 6;
        std.deq_timedelta = 7;
        std.enq_timestamp = 8;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.data.enqueued = (bit<24>)std.enq_qdepth;
        hdr.data.dequeued = (bit<24>)std.deq_qdepth;
        hdr.data.time = std.deq_timedelta;
        hdr.data.same = std.enq_timestamp + std.deq_timedelta == std.egress_global_timestamp[31:0] ? 8w1 : 0;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
