// Most of what the language has, in one program.
#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;
type bit<9> port_t;
const bit<16> TYPE_IPV4 = 0x0800;
const int MAX = 1 << 4;
const bool CHECKED = static_assert(MAX == 16, "MAX is 16");

enum bit<8> Protocol { TCP = 6, UDP = 17 }
enum Mode { Off, On }
error { TooMany }

header ethernet_t {
    mac_t dst;
    mac_t src;
    bit<16> kind;
}
header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> ttl;
    Protocol protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
    bool flag;
    bit<7> rest;
}
header options_t { varbit<320> data; }
header label_t { bit<7> id; bit<1> bottom; }
header a_t { bit<8> a; }
header b_t { bit<16> b; }
header_union either_t { a_t a; b_t b; }
struct inner_t { bit<8> x; port_t port; }
struct Pair<X, Y> { X first; Y second; }
struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    options_t options;
    label_t[4] labels;
    either_t either;
}
struct meta_t {
    inner_t inner;
    bit<8> count;
    int<8> level;
    bool found;
    Mode mode;
    error why;
    Pair<bit<8>, bool> pair;
    tuple<bit<8>, bit<16>> both;
    bit<32> hash;
    @field_list(1) bit<16> kept;
}

T larger<T>(in T a, in T b, in bool first) {
    if (first) {
        return a;
    } else {
        return b;
    }
}
bit<8> clamp(in bit<8> v, out bool changed) {
    changed = v > 200;
    return changed ? 200 : v;
}
void bump(inout bit<8> v) { v = v |+| 1; }
action shared(inout bit<8> v) { v = 0; }

parser labels_parser(packet_in packet, inout label_t[4] labels) {
    state start {
        packet.extract(labels.next);
        transition select(labels.last.bottom, labels.lastIndex) {
            (1, _): accept;
            (0, 0 .. 2): start;
            default: reject;
        }
    }
}

parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(8) extra;
    labels_parser() sub;
    bit<8> words = 0;
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            TYPE_IPV4: parse_ipv4;
            0x8847 &&& 0xfffe: parse_labels;
            extra: parse_either;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.ihl >= 5, error.HeaderTooShort);
        words = (bit<8>) hdr.ipv4.ihl - 5;
        packet.extract(hdr.options, (bit<32>) words << 5);
        bit<8> peek = packet.lookahead<bit<8>>();
        meta.count = peek;
        packet.advance(8);
        transition select(hdr.ipv4.protocol, hdr.ipv4.ttl) {
            (Protocol.TCP, _): accept;
            (Protocol.UDP, 1 .. 63): accept;
            (_, _): accept;
        }
    }
    state parse_labels {
        sub.apply(packet, hdr.labels);
        transition accept;
    }
    state parse_either {
        packet.extract(hdr.either.a);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), { hdr.ipv4.src, hdr.ipv4.dst }, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Counting(inout bit<8> v)(bit<32> size, bit<8> step) {
    counter(size, CounterType.packets_and_bytes) seen;
    apply {
        seen.count((bit<32>) v);
        v = v + step;
    }
}

control MyIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<32>>(1024) cells;
    direct_counter(CounterType.packets) hits;
    meter(16, MeterType.bytes) rate;
    Counting(64, 1) one;
    Counting(128, MAX) two;
    bit<32> cell = 5;

    action forward(port_t port, mac_t dst) {
        hits.count();
        std.egress_spec = (bit<9>) port;
        hdr.ethernet.dst = dst;
    }
    action drop() { mark_to_drop(std); exit; }
    action add(inout bit<8> v, bit<8> by) { v = v + by; }
    @name("renamed") action other() { shared(meta.count); }

    table routes {
        key = {
            hdr.ipv4.dst : lpm @name("dst");
            hdr.ipv4.ttl[3:0] : ternary;
            hdr.labels[0].isValid() : exact;
            meta.inner.port : optional;
        }
        actions = { forward; add(meta.count); @defaultonly drop; other; }
        default_action = drop();
        size = 1024;
        counters = hits;
        entries = {
            priority = 10 : (0x0a000000 &&& 0xff000000, 1, true, _) : forward(3, 0x112233445566);
            (_, 0 &&& 0xf, false, 7) : add(meta.count, 4);
        }
    }
    table flags {
        key = { meta.mode : exact; meta.found : exact; std.ingress_port : range; }
        actions = { NoAction; drop; }
        const entries = {
            (Mode.On, true, 1 .. 4) : drop();
            (Mode.Off, false, _) : NoAction();
        }
        const default_action = NoAction();
    }

    apply {
        const bit<8> step = 3;
        bool changed;
        meta.pair = { 1, true };
        meta.pair = { second = false, first = step };
        meta.both = { 1, 2 };
        meta.count = meta.both[0] + clamp(meta.count, changed);
        bump(meta.count);
        meta.level = -meta.level >> 1;
        meta.count[7:4] = 4w5;
        meta.count ^= larger(meta.count, 2, changed);
        meta.hash = 16w1 ++ hdr.ethernet.kind;
        meta.inner = (inner_t) { 1, 2 };
        meta.found = hdr.ipv4 == { version = 4, ... } || hdr.ethernet.isValid();
        hash(meta.hash, HashAlgorithm.crc32, 32w0, { hdr.ipv4.src, 8w1 }, 32w1024);
        cells.read(cell, meta.hash);
        cells.write(index = meta.hash, value = cell + 1);
        digest(1, { hdr.ethernet.src, std.ingress_port });
        if (routes.apply().hit && meta.count != 0) {
            one.apply(meta.count);
        } else if (flags.apply().miss) {
            two.apply(meta.count);
            return;
        }
        switch (routes.apply().action_run) {
            forward: { hdr.labels.push_front(1); }
            drop:
            other: { hdr.labels.pop_front(1); }
            default: { hdr.either.b.setValid(); }
        }
        switch (hdr.ipv4.protocol) {
            Protocol.TCP:
            Protocol.UDP: { meta.why = error.TooMany; }
            default: { meta.why = error.NoError; }
        }
        for (bit<8> i in 0 .. 3) {
            if (i == 2) { break; }
            hdr.labels[i].id = 7w1;
        }
        for (bit<8> j = 0; j < 4; j = j + 1) { meta.count = meta.count |-| j; }
        hdr.ipv4 = {#};
        hdr.options.setInvalid();
        clone_preserving_field_list(CloneType.I2E, 5, 1);
        log_msg("count {}", { meta.count });
    }
}

control MyEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}
control Compute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), { hdr.ipv4.src, hdr.ipv4.dst }, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}
control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr);
    }
}

V1Switch(MyParser(), Verify(), MyIngress(), MyEgress(), Compute(), MyDeparser()) main;
