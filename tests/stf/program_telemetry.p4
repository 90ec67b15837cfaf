// In-band telemetry: each switch pushes a record in front of those before it, up to the room that the header allows.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header int_t {
    bit<8> count;
    bit<8> room;
}

header record_t {
    bit<16> switch_id;
    bit<9>  ingress_port;
    bit<9>  egress_port;
    bit<6>  reserved;
    bit<32> length;
}

struct headers_t {
    ethernet_t  ethernet;
    int_t       telemetry;
    record_t[4] records;
}

struct meta_t {
    bit<8> left;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.telemetry);
        meta.left = hdr.telemetry.count;
        transition select(hdr.telemetry.count) {
            0: accept;
            default: record;
        }
    }
    state record {
        packet.extract(hdr.records.next);
        meta.left = meta.left - 1;
        transition select(meta.left) {
            0: accept;
            default: record;
        }
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port + 1;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.telemetry.count < hdr.telemetry.room) {
            hdr.records.push_front(1);
            hdr.records[0].setValid();
            hdr.records[0] = { 0x1234, std.ingress_port, std.egress_port, 0, std.packet_length };
            hdr.telemetry.count = hdr.telemetry.count + 1;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
