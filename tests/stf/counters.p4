// Counters by index count packets and bytes as received; direct counters count the hits of their table.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
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

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(4, CounterType.packets_and_bytes) by_key;
    counter(1, CounterType.packets) packets_only;
    direct_counter(CounterType.packets_and_bytes) hits;

    action forward() {
        std.egress_spec = 2;
    }

    action drop() {
        mark_to_drop(std);
    }

    table t {
        key = { hdr.data.key : exact; }
        actions = { forward; drop; }
        default_action = drop();
        counters = hits;
    }

    apply {
        by_key.count((bit<32>)hdr.data.key);
        packets_only.count(0);
        t.apply();
        // What is sent is shorter than what was received; the counters do not see it.
        hdr.data.setInvalid();
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

#include "frame/pipeline.p4"
