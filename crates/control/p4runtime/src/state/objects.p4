// An object of every kind that P4Runtime writes.
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("", string)
type bit<2> name_t;

@p4runtime_translation("", bit<16>)
type bit<2> ring_t;

header eth_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    eth_t eth;
}

struct metadata_t {
    bit<8> colour;
    bit<8> known;
    name_t name;
    ring_t ring;
}

struct station_t {
    bit<48> address;
    bit<9> port;
}

parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    value_set<bit<16>>(3) types;

    state start {
        p.extract(h.eth);
        transition select(h.eth.type) {
            types: known;
            default: accept;
        }
    }
    state known {
        m.known = 1;
        transition accept;
    }
}

control V(inout headers_t h, inout metadata_t m) {
    apply { }
}

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) hosts_counter;
    direct_counter(CounterType.packets) filters_counter;
    direct_meter<bit<8>>(MeterType.bytes) filters_meter;
    counter(4, CounterType.packets_and_bytes) counts;
    meter(4, MeterType.packets) meters;
    register<bit<12>>(4) numbers;
    @max_group_size(6)
    action_selector(HashAlgorithm.identity, 5, 8) paths;
    action_profile(3) marks;

    action forward(bit<9> port) {
        s.egress_spec = port;
    }

    action mark(bit<8> colour) {
        filters_meter.read(m.colour);
        m.colour = m.colour + colour;
    }

    action paint(bit<8> colour) {
        m.colour = colour;
    }

    action drop() {
        mark_to_drop(s);
    }

    action own(ring_t ring) {
        m.ring = ring;
    }

    action serve(@refers_to(owners, name) name_t name) {
        m.name = name;
    }

    @action_restriction("group != 3")
    action copy(@refers_to(builtin::multicast_group_table, multicast_group_id) bit<16> group) {
        s.mcast_grp = group;
    }

    table hosts {
        key = { h.eth.dst: exact; }
        actions = { forward; drop; NoAction; }
        default_action = drop();
        counters = hosts_counter;
        support_timeout = true;
        size = 3;
    }

    table filters {
        key = {
            h.eth.src: ternary;
            h.eth.type: range;
            h.eth.dst: optional;
        }
        actions = { mark; drop; @defaultonly NoAction; }
        const default_action = NoAction();
        counters = filters_counter;
        meters = filters_meter;
        size = 4;
    }

    table routes {
        key = { h.eth.dst: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 4;
    }

    table spread {
        key = {
            h.eth.type: exact;
            h.eth.src: selector;
        }
        actions = { forward; drop; }
        implementation = paths;
        size = 4;
    }

    table marking {
        key = { h.eth.type: ternary; }
        actions = { paint; NoAction; }
        implementation = marks;
        size = 4;
    }

    table fixed {
        key = { h.eth.type: exact; }
        actions = { paint; NoAction; }
        const entries = { 0x800: paint(1); }
    }

    table owners {
        key = { m.name: exact @name("name"); }
        actions = { own; drop; }
        size = 4;
    }

    @entry_restriction("ring == 1 -> ::priority == 1")
    table clients {
        key = {
            m.ring: optional @name("ring");
            m.name: optional @name("name") @refers_to(owners, name);
        }
        actions = { serve; copy; drop; }
        size = 4;
    }

    apply {
        owners.apply();
        clients.apply();
        hosts.apply();
        filters.apply();
        routes.apply();
        spread.apply();
        marking.apply();
        fixed.apply();
        counts.count(1);
        meters.execute_meter(1, m.colour);
        bit<12> number;
        numbers.read(number, 1);
        numbers.write(1, number + 1);
        digest<station_t>(1, { h.eth.src, s.ingress_port });
    }
}

control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply { }
}

control D(packet_out p, in headers_t h) {
    apply {
        p.emit(h.eth);
    }
}

V1Switch(P(), V(), I(), E(), V(), D()) main;
