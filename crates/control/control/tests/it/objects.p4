// An object of most kinds that control planes write.
#include <core.p4>
#include <v1model.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t byte;
}

struct metadata_t {
    bit<8> colour;
}

struct seen_t {
    bit<8> value;
}

parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    value_set<bit<8>>(3) values;

    state start {
        p.extract(h.byte);
        transition select(h.byte.value) {
            values: accept;
            default: accept;
        }
    }
}

control V(inout headers_t h, inout metadata_t m) {
    apply { }
}

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) hosts_counter;
    direct_meter<bit<8>>(MeterType.bytes) filters_meter;
    counter(4, CounterType.packets_and_bytes) counts;
    meter(4, MeterType.packets) meters;
    register<bit<12>>(4) numbers;
    @max_group_size(4)
    action_selector(HashAlgorithm.identity, 5, 8) paths;

    action forward(bit<9> port) {
        s.egress_spec = port;
    }

    action drop() {
        mark_to_drop(s);
    }

    action measure() {
        filters_meter.read(m.colour);
    }

    table hosts {
        key = { h.byte.value: exact; }
        actions = { forward; drop; }
        counters = hosts_counter;
        default_action = drop();
        size = 3;
    }

    table filters {
        key = { h.byte.value: ternary; }
        actions = { measure; @defaultonly NoAction; }
        meters = filters_meter;
        const default_action = NoAction();
        size = 3;
    }

    table spread {
        key = {
            h.byte.value: exact;
            h.byte.value: selector;
        }
        actions = { forward; drop; }
        implementation = paths;
        size = 3;
    }

    table fixed {
        key = { h.byte.value: exact; }
        actions = { forward; drop; }
        const entries = { 1: forward(1); }
    }

    apply {
        hosts.apply();
        filters.apply();
        spread.apply();
        fixed.apply();
        counts.count(1);
        meters.execute_meter(1, m.colour);
        bit<12> number;
        numbers.read(number, 1);
        numbers.write(1, number + 1);
        digest<seen_t>(1, { h.byte.value });
    }
}

control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply { }
}

control D(packet_out p, in headers_t h) {
    apply {
        p.emit(h.byte);
    }
}

V1Switch(P(), V(), I(), E(), V(), D()) main;
