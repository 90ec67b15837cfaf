//! Key prefetch finds the keys that the packet alone determines, and changes no result.

use std::sync::Arc;

use hopwright_abi::{self as abi, ExternHandle, Runtime};
use hopwright_dataplane::{EngineKind, Executor, FrameSize, Packet, Pool, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_ir::{ActionCall, MatchValue, Pipeline, TableEntry};
use hopwright_jit::{Options, compile};

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ip_t { bit<32> src; bit<32> dst; }
struct headers_t { ethernet_t ethernet; ip_t ip; }
struct meta_t { bit<16> vrf; bit<32> addr; bit<8> found; }
parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x800: ip; default: accept; }
    }
    state ip { packet.extract(hdr.ip); transition accept; }
}
control Verify(inout headers_t hdr, inout meta_t meta) { apply {} }
control Receive(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<32>>(16) seen;
    counter(16, CounterType.packets) count;
    action set(bit<8> found) { meta.found = found; hdr.ethernet.src = 1; count.count(3); }
    action to(bit<9> port) { std.egress_spec = port; }
    table by_dst { key = { hdr.ethernet.dst: exact; } actions = { set; NoAction; } size = 65536; }
    table routes { key = { meta.vrf: exact; hdr.ip.dst: lpm; } actions = { to; NoAction; } size = 65536; }
    table by_addr { key = { meta.addr: exact; } actions = { to; NoAction; } size = 65536; }
    table by_src { key = { hdr.ethernet.src: exact; } actions = { to; NoAction; } size = 65536; }
    table by_found { key = { meta.found: exact; hdr.ethernet.dst: exact; } actions = { to; NoAction; } size = 65536; }
    table late { key = { hdr.ethernet.type: exact; hdr.ethernet.dst: exact; } actions = { to; NoAction; } size = 65536; }
    table few { key = { hdr.ethernet.dst: exact; } actions = { to; NoAction; } size = 100; }
    apply {
        seen.write(1, 5);
        hdr.ethernet.type = hdr.ethernet.type + 1;
        meta.vrf = (bit<16>)std.ingress_port + 100;
        by_dst.apply();
        if (hdr.ip.isValid()) {
            meta.addr = hdr.ip.dst ^ 1;
            routes.apply();
        } else {
            meta.addr = 7;
        }
        by_addr.apply();
        by_src.apply();
        by_found.apply();
        few.apply();
        if (meta.found == 1) {
            late.apply();
        }
    }
}
control Send(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control Compute(inout headers_t hdr, inout meta_t meta) { apply {} }
control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); packet.emit(hdr.ip); } }
V1Switch(Parse(), Verify(), Receive(), Send(), Compute(), Deparse()) main;
"#;

fn pipeline(text: &str) -> Arc<Pipeline> {
    let compiled = compile_text("program.p4", text, &Default::default(), true);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics)))
}

const DST: u64 = 0x0200_0000_0005;

fn frame(ip: bool) -> Vec<u8> {
    let mut bytes = DST.to_be_bytes()[2..].to_vec();
    bytes.extend([2, 0, 0, 0, 0, 6]);
    bytes.extend(if ip { [8, 0] } else { [9, 9] });
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    bytes
}

/// The tables that the scout found keys of, by name, with all keys.
fn keys(p: &Pipeline, frames: &[Vec<u8>]) -> Vec<(String, Vec<Vec<u64>>)> {
    let compiled = compile(p, &Options::default()).unwrap();
    let Some(scout) = compiled.key_prefetcher() else { return Vec::new() };
    let mut buffers = frames.to_vec();
    let mut packets: Vec<abi::Packet> = (buffers.iter_mut())
        .map(|b| abi::Packet {
            buffer: b.as_mut_ptr(),
            capacity: b.len() as u32,
            start: 0,
            end: b.len() as u32,
            ingress_port: 3,
            egress_port: 0xdead,
            verdict: 0xdead,
            parser_error: 0xdead,
            priority: 0,
        })
        .collect();
    let mut room: Vec<Vec<u64>> = scout.tables.iter().map(|t| vec![0; t.uses * t.key_words * frames.len()]).collect();
    let mut cursors = vec![std::ptr::null_mut(); p.tables.len()];
    for (table, room) in scout.tables.iter().zip(&mut room) {
        cursors[table.table.index()] = room.as_mut_ptr();
    }
    let runtime = Runtime {
        tables: std::ptr::null(),
        externs: std::ptr::null(),
        functions: std::ptr::null(),
        context: cursors.as_mut_ptr().cast(),
        scratch: std::ptr::null_mut(),
        now_us: 0,
        record: std::ptr::null_mut(),
        original: std::ptr::null_mut(),
        value_sets: std::ptr::null(),
        digests: ExternHandle { state: std::ptr::null_mut(), size: 0, call: None },
        profile: std::ptr::null_mut(),
        side_exits: std::ptr::null_mut(),
        exit_sites: std::ptr::null_mut(),
        depths: std::ptr::null(),
    };
    // SAFETY: the packets' buffers are as they say, and there is room for all keys; it uses nothing else.
    unsafe { (scout.run())(&runtime, packets.as_mut_ptr(), packets.len()) };
    assert_eq!(buffers, frames, "packets were changed");
    for p in &packets {
        assert_eq!((p.egress_port, p.verdict, p.parser_error), (0xdead, 0xdead, 0xdead), "packets were decided");
    }
    let mut all = Vec::new();
    for (table, room) in scout.tables.iter().zip(&room) {
        let words = (cursors[table.table.index()].addr() - room.as_ptr().addr()) / 8;
        let keys = room[..words].chunks(table.key_words).map(<[u64]>::to_vec).collect();
        all.push((p[table.table].name.clone(), keys));
    }
    all
}

#[test]
fn keys_are_those_that_the_packet_alone_tells() {
    let p = pipeline(PROGRAM);
    let key = |name: &str, keys: &[&[u64]]| (format!("Receive.{name}"), keys.iter().map(|k| k.to_vec()).collect());
    let dst = 0x0a00_0002;
    let wanted = vec![
        key("by_dst", &[&[DST], &[DST]]),
        key("routes", &[&[103 << 32 | dst]]),
        key("by_addr", &[&[dst ^ 1], &[7]]),
    ];
    // `by_src` and `by_found` depend on what was found, `late` on a field that was written; `few` is not large.
    assert_eq!(keys(&p, &[frame(true), frame(false)]), wanted);
    // Frames that end too early have the keys of what they have.
    let short = keys(&p, &[frame(true)[..16].to_vec(), vec![]]);
    assert_eq!(short[1].1, Vec::<Vec<u64>>::new());
    assert_eq!(short[2].1, [[7], [7]]);
}

#[test]
fn without_reason_there_is_no_scout() {
    assert_eq!(keys(&pipeline(&PROGRAM.replace("65536", "1000")), &[frame(true)]), vec![]);
    // A parser whose path depends on a field that it has written.
    let writes =
        PROGRAM.replace("transition select(hdr", "hdr.ethernet.type = hdr.ethernet.type + 1; transition select(hdr");
    assert_eq!(keys(&pipeline(&writes), &[frame(true)]), vec![]);
    // What is looked up is not known before.
    let late = PROGRAM
        .replace("apply {\n        seen", "apply {\n        hdr.ethernet.dst = hdr.ethernet.dst + 1;\n        seen");
    let late = late
        .replace("hdr.ip.dst ^ 1", "(bit<32>)hdr.ethernet.dst[31:0]")
        .replace("std.ingress_port + 100", "hdr.ethernet.dst[15:0]");
    assert_eq!(keys(&pipeline(&late), &[frame(true)]), vec![]);
}

/// A Tofino program: its parser makes the intrinsic metadata valid, reads the metadata of the port from a register, computes a
/// checksum and writes a field.
const TOFINO: &str = r#"
#include <core.p4>
#include <tna.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ip_t { bit<32> src; bit<32> dst; }
struct headers_t { ethernet_t ethernet; ip_t ip; }
struct port_t { bit<32> vrf; bit<32> rest; }
struct meta_t { bool wrong; port_t port; }
struct none_t {}
parser Parse(packet_in packet, out headers_t hdr, out meta_t meta, out ingress_intrinsic_metadata_t intrinsic) {
    Checksum() checksum;
    state start {
        packet.extract(intrinsic);
        meta.port = port_metadata_unpack<port_t>(packet);
        packet.extract(hdr.ethernet);
        hdr.ethernet.src = 5;
        transition select(hdr.ethernet.type) { 0x800: ip; default: accept; }
    }
    state ip {
        packet.extract(hdr.ip);
        checksum.add(hdr.ip);
        meta.wrong = checksum.verify();
        transition accept;
    }
}
control Receive(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    action to(bit<9> port) { for_tm.ucast_egress_port = port; }
    table by_port { key = { intrinsic.ingress_port: exact; hdr.ethernet.dst: exact; } actions = { to; } size = 65536; }
    table routes { key = { hdr.ip.dst: lpm; } actions = { to; } size = 65536; }
    table by_vrf { key = { meta.port.vrf: exact; } actions = { to; } size = 65536; }
    table by_src { key = { hdr.ethernet.src: exact; } actions = { to; } size = 65536; }
    apply {
        by_port.apply();
        if (hdr.ip.isValid() && !meta.wrong) { routes.apply(); }
        by_vrf.apply();
        by_src.apply();
    }
}
control Deparse(packet_out packet, inout headers_t hdr, in meta_t meta,
                in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply { packet.emit(hdr); }
}
parser EgressParse(packet_in packet, out none_t hdr, out none_t meta, out egress_intrinsic_metadata_t intrinsic) {
    state start { packet.extract(intrinsic); transition accept; }
}
control Send(inout none_t hdr, inout none_t meta, in egress_intrinsic_metadata_t intrinsic,
             in egress_intrinsic_metadata_from_parser_t from_parser,
             inout egress_intrinsic_metadata_for_deparser_t for_deparser,
             inout egress_intrinsic_metadata_for_output_port_t for_port) { apply {} }
control EgressDeparse(packet_out packet, inout none_t hdr, in none_t meta,
                      in egress_intrinsic_metadata_for_deparser_t for_deparser) { apply {} }
Pipeline(Parse(), Receive(), Deparse(), EgressParse(), Send(), EgressDeparse()) pipe;
Switch(pipe) main;
"#;

#[test]
fn keys_of_tofino_programs_are_found() {
    let wanted = vec![
        ("Receive.by_port".to_string(), vec![vec![3 << 48 | DST]]),
        // Whether the checksum is right is unknown: the key is prefetched in any case.
        ("Receive.routes".to_string(), vec![vec![0x0a00_0002]]),
    ];
    let text = TOFINO.to_string();
    // With an egress that does something, packets take two passes.
    let twice = text.replace("for_port) { apply {} }", "for_port) { apply { for_deparser.drop_ctl = 1; } }");
    assert_ne!(text, twice);
    for text in [text, twice] {
        assert_eq!(keys(&pipeline(&text), &[frame(true)]), wanted);
    }
}

/// In tables of all sizes, packets of a batch come out the same whether they are looked ahead for or not.
#[test]
fn looking_ahead_changes_nothing() {
    let p = pipeline(PROGRAM);
    let mut outcomes = Vec::new();
    for always in [Some(false), Some(true), None] {
        let vdp = VirtualDataPlane::new(p.clone(), EngineKind::Jit).unwrap();
        let table = |name: &str| vdp.control().table(name).map(|t| t.id()).unwrap();
        let call = |table, action: &str, arg: u64| {
            let mut call: ActionCall = vdp.control().resolve_action(table, action, &[]).unwrap();
            call.args = vec![arg.into()];
            call
        };
        let (routes, by_dst) = (table("routes"), table("by_dst"));
        for n in 0..20_000u64 {
            let len = 8 + (n % 25) as u32;
            let value = (n.wrapping_mul(0x9e37_79b9) & 0xffff_ffff) >> (32 - len) << (32 - len);
            let matches =
                vec![MatchValue::Exact(103u32.into()), MatchValue::Lpm { value: value.into(), prefix_len: len }];
            let _ =
                vdp.control()[routes].insert(TableEntry { matches, priority: 0, action: call(routes, "to", n % 500) });
            let matches = vec![MatchValue::Exact((DST + n).into())];
            vdp.control()[by_dst]
                .insert(TableEntry { matches, priority: 0, action: call(by_dst, "set", n % 3) })
                .unwrap();
        }
        let mut executor = Executor::new(vdp.clone());
        executor.prefetch_keys(always);
        let mut pool = Pool::new(200, FrameSize::for_mtu(1500)).unwrap();
        let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
        let mut outcome = Vec::new();
        for round in 0..40u64 {
            for (i, packet) in packets.iter_mut().enumerate() {
                let n = round * 200 + i as u64;
                let mut bytes = frame(!n.is_multiple_of(5));
                bytes[..6].copy_from_slice(&(DST + n * 3 % 22_000).to_be_bytes()[2..]);
                bytes[18..22].copy_from_slice(&(n.wrapping_mul(0x9e37_79b9) as u32).to_be_bytes());
                packet.set_bounds(128, 128);
                assert!(packet.fill(&bytes));
                packet.set_ingress_port(3);
            }
            let size = [200, 64, 65, 7, 1][round as usize % 5];
            for batch in packets.chunks_mut(size) {
                executor.process_batch(batch, 1);
            }
            let result = |p: &Packet| (p.verdict(), p.egress_port(), p.bytes().to_vec());
            outcome.push(packets.iter().map(result).collect::<Vec<_>>());
        }
        outcomes.push((outcome, vdp.control().counter("Receive.count").and_then(|c| c.read(3)).unwrap()));
    }
    assert!(outcomes[0].1.packets > 1000);
    assert!(outcomes[0] == outcomes[1] && outcomes[0] == outcomes[2]);
}

/// A batch that is looked ahead for walks tables that change under it, down to nodes that are taken away.
#[test]
fn tables_may_change_while_they_are_fetched() {
    let vdp = VirtualDataPlane::new(pipeline(PROGRAM), EngineKind::Jit).unwrap();
    let (routes, by_dst) = (
        vdp.control().table("routes").map(|t| t.id()).unwrap(),
        vdp.control().table("by_dst").map(|t| t.id()).unwrap(),
    );
    let action = |table, name: &str, arg: u64| {
        let mut call = vdp.control().resolve_action(table, name, &[]).unwrap();
        call.args = vec![arg.into()];
        call
    };
    // Of each 16 addresses one has a route of its own in the first half of a round; a shorter one is always there.
    let route = |address: u64, prefix_len: u32| {
        vec![MatchValue::Exact(103u32.into()), MatchValue::Lpm { value: address.into(), prefix_len }]
    };
    let call = action(routes, "to", 7);
    vdp.control()[routes].insert(TableEntry { matches: route(0x0a00_0000, 8), priority: 0, action: call }).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let mut executor = Executor::new(vdp.clone());
            executor.prefetch_keys(Some(true));
            let mut pool = Pool::new(64, FrameSize::for_mtu(1500)).unwrap();
            let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
            let mut own = 0u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for (i, packet) in packets.iter_mut().enumerate() {
                    let mut bytes = frame(true);
                    bytes[18..22].copy_from_slice(&(0x0a00_0000 + 16 * i as u32).to_be_bytes());
                    packet.set_bounds(128, 128);
                    assert!(packet.fill(&bytes));
                    packet.set_ingress_port(3);
                }
                executor.process_batch(&mut packets, 1);
                for packet in &packets {
                    assert!([7, 8].contains(&packet.egress_port()), "neither route");
                    own += u64::from(packet.egress_port() == 8);
                }
            }
            own
        });
        for round in 0..150u64 {
            for n in 0..200u64 {
                let call = action(routes, "to", 8);
                let entry = TableEntry { matches: route(0x0a00_0000 + 16 * n, 32), priority: 0, action: call };
                vdp.control()[routes].insert(entry).unwrap();
                let matches = vec![MatchValue::Exact((DST + round * 200 + n).into())];
                let call = action(by_dst, "set", 2);
                vdp.control()[by_dst].insert(TableEntry { matches, priority: 0, action: call }).unwrap();
            }
            for n in 0..200u64 {
                vdp.control()[routes].delete(&route(0x0a00_0000 + 16 * n, 32), 0).unwrap();
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(running.join().unwrap() > 0);
    });
    assert_eq!(vdp.control()[routes].len(), 1);
}
