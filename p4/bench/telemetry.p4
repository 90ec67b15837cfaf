// In-band telemetry: each switch puts a record of the packet's way in front of those of the switches before it.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

const bit<16> TYPE_TELEMETRY = 0x88b5;

header telemetry_t {
    bit<8>  count;
    bit<8>  room;
    bit<16> next_type;
}

header record_t {
    bit<16> switch_id;
    bit<9>  ingress_port;
    bit<9>  egress_port;
    bit<6>  reserved;
    bit<48> ingress_time;
    bit<32> length;
}

struct headers_t {
    ethernet_t  ethernet;
    telemetry_t telemetry;
    record_t[8] records;
}

struct meta_t {
    bit<8>  left;
    bit<16> switch_id;
}

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_TELEMETRY: telemetry;
            default: accept;
        }
    }
    state telemetry {
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

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }
    action forward(port_t port, bit<16> switch_id) {
        std.egress_spec = port;
        meta.switch_id = switch_id;
    }
    table destinations {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 1048576;
    }
    apply {
        destinations.apply();
    }
}

#define OWN_EGRESS

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (!hdr.telemetry.isValid()) {
            hdr.telemetry = { 0, 8, hdr.ethernet.type };
            hdr.ethernet.type = TYPE_TELEMETRY;
        }
        if (hdr.telemetry.count < hdr.telemetry.room && hdr.telemetry.count < 8) {
            hdr.records.push_front(1);
            hdr.records[0] = { meta.switch_id, std.ingress_port, std.egress_port, 0, std.ingress_global_timestamp,
                               std.packet_length };
            hdr.telemetry.count = hdr.telemetry.count + 1;
        }
    }
}

#include "tail.p4"
