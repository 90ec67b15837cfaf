//! The interpreter, the generic function and traces mean the same: programs in P4, packets that stay on traces, and packets
//! that leave them at every kind of guard. Side exits are counted, so that the test knows which packets ran where.

use crate::harness::{Machine, OnTraces, compare_traces};
use hopwright_driver::compile_text;
use hopwright_ir::Pipeline;

/// A router with VLAN tags: exact, ternary and prefix matches, a counter, a register, checksums, and headers that come and
/// go, so that packets are put together again.
const ROUTER: &str = r#"
#include <core.p4>
#include <v1model.p4>
header eth_t { bit<48> dst; bit<48> src; bit<16> type; }
header tag_t { bit<3> pcp; bit<1> dei; bit<12> vid; bit<16> type; }
header ip_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length; bit<32> id; bit<8> ttl; bit<8> protocol; bit<16> sum;
    bit<32> src; bit<32> dst;
}
header opt_t { varbit<320> bytes; }
struct headers { eth_t eth; tag_t tag; ip_t ip; opt_t opt; }
struct metadata { bit<12> vid; bit<8> class; }
error { BadVersion }
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t s) {
    state start {
        p.extract(hdr.eth);
        transition select(hdr.eth.type) { 0x8100: tag; 0x0800: ip; default: accept; }
    }
    state tag {
        p.extract(hdr.tag);
        meta.vid = hdr.tag.vid;
        transition select(hdr.tag.type, hdr.tag.pcp) { (0x0800, 0 &&& 4): ip; (0x0800, _): urgent; default: accept; }
    }
    state urgent { meta.class = 7; transition ip; }
    state ip {
        p.extract(hdr.ip);
        verify(hdr.ip.version == 4, error.BadVersion);
        transition select(hdr.ip.ihl) { 5: accept; 6..15: options; default: accept; }
    }
    state options {
        p.extract(hdr.opt, (bit<32>)(hdr.ip.ihl - 5) * 32);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum(hdr.ip.isValid() && !hdr.opt.isValid(), { hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.length,
            hdr.ip.id, hdr.ip.ttl, hdr.ip.protocol, hdr.ip.src, hdr.ip.dst }, hdr.ip.sum, HashAlgorithm.csum16);
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t s) {
    counter(16, CounterType.packets_and_bytes) sent;
    @concurrent register<bit<32>>(64) last;
    action drop() { mark_to_drop(s); }
    action to(bit<9> port, bit<48> dst, bit<48> src) { s.egress_spec = port; hdr.eth.dst = dst; hdr.eth.src = src; }
    action retag(bit<9> port, bit<12> vid) { s.egress_spec = port; hdr.tag.vid = vid; meta.vid = vid; }
    action untag(bit<9> port) { s.egress_spec = port; hdr.eth.type = hdr.tag.type; hdr.tag.setInvalid(); }
    action mark(bit<8> class) { meta.class = class; }
    table route {
        key = { hdr.ip.dst: lpm; }
        actions = { to; drop; }
        default_action = drop();
        const entries = {
            0x0a000000 &&& 0xff000000: to(1, 0x020000000001, 0x020000000101);
            0x0a0b0000 &&& 0xffff0000: to(2, 0x020000000002, 0x020000000102);
        }
    }
    table vlan {
        key = { meta.vid: exact; hdr.tag.isValid(): exact; }
        actions = { retag; untag; drop; }
        default_action = drop();
        const entries = { (10, true): retag(3, 20); (11, true): untag(4); }
    }
    table classes {
        key = { hdr.ip.tos: ternary; hdr.ip.protocol: ternary; }
        actions = { mark; NoAction; }
        default_action = NoAction();
        const entries = { (0x20 &&& 0xe0, _): mark(1); (_, 17): mark(2); }
    }
    apply {
        if (s.checksum_error == 1) { drop(); return; }
        if (hdr.ip.isValid()) {
            if (hdr.ip.ttl <= 1) { drop(); return; }
            hdr.ip.ttl = hdr.ip.ttl - 1;
            if (meta.class == 0) { classes.apply(); }
            if (route.apply().hit) { sent.count((bit<32>)s.egress_spec); }
            if (meta.class == 2) { hdr.ip.tos = 0x55; }
        } else if (hdr.tag.isValid()) {
            if (vlan.apply().hit) { last.write((bit<32>)meta.vid, (bit<32>)s.packet_length); }
        } else { drop(); }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t s) {
    apply { if (meta.class == 7 && hdr.tag.isValid()) { hdr.tag.dei = 1; } }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(hdr.ip.isValid() && !hdr.opt.isValid(), { hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.length,
            hdr.ip.id, hdr.ip.ttl, hdr.ip.protocol, hdr.ip.src, hdr.ip.dst }, hdr.ip.sum, HashAlgorithm.csum16);
    }
}
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

fn program(name: &str, text: &str) -> Pipeline {
    let compiled = compile_text(name, text, &Default::default(), true);
    compiled.pipeline.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics))
}

/// An IPv4 packet.
#[derive(Clone, Copy)]
struct Ip {
    tag: Option<u16>,
    tos: u8,
    ttl: u8,
    protocol: u8,
    dst: [u8; 4],
    options: usize,
    payload: usize,
}

const PLAIN: Ip = Ip { tag: None, tos: 0, ttl: 64, protocol: 6, dst: [10, 1, 2, 3], options: 0, payload: 40 };

impl Ip {
    fn bytes(self) -> Vec<u8> {
        let mut ip = vec![0x45 + self.options as u8, self.tos, 0, (20 + 4 * self.options + self.payload) as u8];
        ip.extend([1, 2, 3, 4, self.ttl, self.protocol, 0, 0, 192, 0, 2, 1]);
        ip.extend(self.dst);
        let sum = ip.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>();
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        ip.extend((0..4 * self.options).map(|i| 0xe0 + i as u8));
        ip.extend((0..self.payload).map(|i| i as u8));
        frame(self.tag, 0x0800, &ip)
    }
}

fn frame(tag: Option<u16>, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = (1..=12).collect();
    if let Some(tag) = tag {
        bytes.extend([0x81, 0x00]);
        bytes.extend(tag.to_be_bytes());
    }
    bytes.extend(ether_type.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Packets whose paths get traces.
fn frequent() -> Vec<Vec<u8>> {
    vec![
        PLAIN.bytes(),
        Ip { dst: [10, 11, 2, 3], ..PLAIN }.bytes(),
        Ip { protocol: 17, payload: 100, ..PLAIN }.bytes(),
        Ip { tag: Some(0x2005), tos: 0x20, ..PLAIN }.bytes(),
        Ip { tag: Some(0x8005), ..PLAIN }.bytes(),
        Ip { options: 2, ..PLAIN }.bytes(),
        Ip { ttl: 1, ..PLAIN }.bytes(),
        frame(Some(10), 0x1234, &[7; 30]),
        frame(Some(11), 0x1234, &[7; 30]),
    ]
}

/// Packets that leave the traces, each at another guard.
fn others() -> Vec<Vec<u8>> {
    let mut bad_sum = PLAIN.bytes();
    bad_sum[24] ^= 1;
    let mut version = PLAIN.bytes();
    version[14] = 0x65;
    let mut short = PLAIN.bytes();
    short.truncate(20);
    vec![
        bad_sum,
        version,
        short,
        Vec::new(),
        Ip { dst: [11, 0, 0, 1], ..PLAIN }.bytes(),
        Ip { tag: Some(0x2005), protocol: 17, ..PLAIN }.bytes(),
        Ip { ttl: 0, options: 1, ..PLAIN }.bytes(),
        frame(None, 0x1234, &[1; 20]),
        frame(Some(12), 0x1234, &[1; 20]),
        frame(Some(10), 0x1234, &[])[..17].to_vec(),
    ]
}

fn views(packets: &[Vec<u8>]) -> Vec<&[u8]> {
    packets.iter().map(Vec::as_slice).collect()
}

#[test]
fn differential_packets_stay_on_their_traces() {
    let router = program("router.p4", ROUTER);
    let frequent = frequent();
    let batch: Vec<&[u8]> = views(&frequent).repeat(5);
    let on_traces = compare_traces(&router, &views(&frequent), &batch).unwrap();
    assert_eq!(on_traces, Some(OnTraces { completed: batch.len() as u64, side_exits: 0 }));
}

#[test]
fn differential_other_packets_take_side_exits() {
    let router = program("router.p4", ROUTER);
    let (frequent, others) = (frequent(), others());
    let (frequent, others) = (views(&frequent), views(&others));
    let all: Vec<&[u8]> = [&frequent[..], &others[..], &frequent[..3], &others[2..]].concat();
    let on_traces = compare_traces(&router, &frequent, &all).unwrap();
    let side_exits = 2 * others.len() as u64 - 2;
    assert_eq!(on_traces, Some(OnTraces { completed: all.len() as u64 - side_exits, side_exits }));
}

/// Each path alone: all others leave it.
#[test]
fn differential_one_path_has_one_trace() {
    let router = program("router.p4", ROUTER);
    let frequent = frequent();
    let all = views(&frequent);
    for one in &all {
        let on_traces = compare_traces(&router, &[one], &all).unwrap().expect("a trace");
        let same = all.iter().filter(|packet| packet == &one).count() as u64;
        assert!(on_traces.completed >= same && on_traces.side_exits > 0, "{on_traces:?}");
    }
}

/// The controls of a program with one of its own.
const OTHER_CONTROLS: &str = r#"
control V(inout headers hdr, inout metadata meta) { apply { } }
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t s) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

/// A varbit that moves has no code in traces.
const MOVES: &str = r#"
#include <core.p4>
#include <v1model.p4>
header first_t { bit<8> kind; }
header list_t { bit<8> length; varbit<64> bytes; }
header last_t { bit<8> x; }
struct headers { first_t first; list_t list; last_t last; }
struct metadata { }
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t s) {
    state start { p.extract(hdr.first); transition select(hdr.first.kind) { 0: accept; default: list; } }
    state list { p.extract(hdr.list, 8 * (bit<32>) p.lookahead<bit<8>>()); transition accept; }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (hdr.first.kind == 2) { hdr.last.setValid(); hdr.last.x = 7; }
    }
}
"#;

#[test]
fn differential_paths_without_code_are_left_out() {
    let program = program("moves.p4", &[MOVES, OTHER_CONTROLS].concat());
    let [plain, stays, moves] = [[0, 2, 3, 4, 5], [1, 2, 3, 4, 5], [2, 2, 3, 4, 5]].map(|packet| packet.to_vec());
    let all = [&plain[..], &stays, &moves, &moves];
    let on_traces = compare_traces(&program, &all, &all).unwrap();
    assert_eq!(on_traces, Some(OnTraces { completed: 2, side_exits: 2 }));
    let mut machine = Machine::new(&program).unwrap();
    let paths = |machine: &mut Machine, packets: &[&[u8]]| -> Vec<_> {
        machine.profile(packets, (1, 0)).unwrap().into_iter().map(|(path, _)| path).collect()
    };
    let every = paths(&mut machine, &all[..3]);
    let traces = machine.traces(&every, &[]).unwrap().expect("traces");
    assert_eq!(traces.paths(), &every[..2]);
    assert!(traces.left_out().is_some_and(|error| error.message.contains("varbit")));
    assert!(machine.traces(&every[2..], &[]).unwrap().is_none());
}

/// Programs fold sums of words themselves. Sums, choices and bitwise results may be computed in the order of the packet.
const SUMS: &str = r#"
#include <core.p4>
#include <v1model.p4>
header words_t {
    bit<16> sum; bit<16> a; bit<32> b; bit<16> c; bit<16> d; bit<8> count; bit<8> choice; bit<16> bare; bit<32> xored;
}
struct headers { words_t w; }
struct metadata { }
bit<16> fold(in bit<64> sum) {
    bit<64> halves = sum + (sum << 32 | sum >> 32);
    bit<32> upper = halves[63:32];
    bit<32> quarters = upper + (upper << 16 | upper >> 16);
    return quarters[31:16];
}
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t s) {
    state start { p.extract(hdr.w); transition accept; }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        bit<16> mixed = hdr.w.a ^ hdr.w.c;
        bit<64> sum = 0xffff0000000000 + (bit<64>) mixed - (bit<64>) hdr.w.a - (bit<64>) hdr.w.b + (bit<64>) hdr.w.count
            - (bit<64>) hdr.w.sum + (bit<64>) (hdr.w.d - 8);
        bit<16> changed = ~fold(sum);
        hdr.w.bare = fold(1 + (bit<64>) hdr.w.c + (bit<64>) hdr.w.d + ((bit<64>) hdr.w.count << 8));
        if (changed == 0) { changed = 0xffff; }
        hdr.w.sum = hdr.w.choice[0:0] == 1 ? changed : hdr.w.d & 0xff0f;
        hdr.w.xored = hdr.w.b ^ hdr.w.xored;
        hdr.w.a = mixed;
    }
}
"#;

#[test]
fn differential_sums_in_the_order_of_the_packet() {
    let sums = program("sums.p4", &[SUMS, OTHER_CONTROLS].concat());
    // Words that are all zeros, all ones, or anything, so that sums are zero in both of its forms.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let mut packet = |_| -> Vec<u8> {
        let word = |next: &mut dyn FnMut() -> u32| match next() % 4 {
            0 => [0, 0],
            1 => [0xff, 0xff],
            _ => (next() as u16).to_be_bytes(),
        };
        (0..12).flat_map(|_| word(&mut next)).collect()
    };
    let packets: Vec<Vec<u8>> = (0..4000).map(&mut packet).collect();
    let all = views(&packets);
    let on_traces = compare_traces(&sums, &all[..64], &all).unwrap().expect("traces");
    assert!(on_traces.completed > 3900, "{on_traces:?}");
}
