//! Packets that grow, in frames of many sizes: the engines agree on what fits, and every packet that does not is counted.

use std::sync::Arc;

use hopwright_dataplane::packet::JUMBO_BYTES;
use hopwright_dataplane::{
    CloneSession, EngineKind, Executor, FrameSize, LostCopies, Pool, Replica, SwitchBuilder, TenantStats, Verdict,
    VirtualDataPlane,
};
use hopwright_driver::compile_text;
use hopwright_ir::Pipeline;

use crate::switch::{TestPort, Wire};

/// Adds `tags` headers of ten bytes in each of `passes` recirculations. On the way it clones packets in egress, truncates
/// them, and makes two copies of the last.
const PROGRAM: &str = r#"
header data_t { bit<8> passes; bit<8> tags; bit<8> clone; bit<8> cut; bit<8> group; }
header tag_t { bit<80> x; }
struct headers_t { data_t data; tag_t[6] tags; }
struct meta_t { bit<1> none; }
parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(hdr.data); transition accept; }
}
control V(inout headers_t hdr, inout meta_t m) { apply { } }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 2;
        if (hdr.data.passes == 0 && hdr.data.group != 0) { s.mcast_grp = 1; }
    }
}
control Tag(inout headers_t hdr, in bit<8> n) {
    apply {
        if (hdr.data.tags > n) {
            hdr.tags.push_front(1);
            hdr.tags[0].setValid();
            hdr.tags[0].x = (bit<80>) n;
        }
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    Tag() t0; Tag() t1; Tag() t2; Tag() t3; Tag() t4; Tag() t5;
    apply {
        t0.apply(hdr, 0); t1.apply(hdr, 1); t2.apply(hdr, 2); t3.apply(hdr, 3); t4.apply(hdr, 4); t5.apply(hdr, 5);
        if (s.instance_type == 2) { return; }
        if (hdr.data.clone == hdr.data.passes) { clone_preserving_field_list(CloneType.E2E, 5, 0); }
        if (hdr.data.passes != 0) {
            hdr.data.passes = hdr.data.passes - 1;
            if (hdr.data.cut != 0) { truncate((bit<32>) hdr.data.cut); }
            recirculate_preserving_field_list(0);
        }
    }
}
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.data); p.emit(hdr.tags); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;
/// What a pass of it can add.
const GROWTH: u32 = 60;

fn compile(text: &str) -> Arc<Pipeline> {
    let text = format!("#include <core.p4>\n#include <v1model.p4>\n{text}");
    let compiled = compile_text("growth.p4", &text, &Default::default(), true);
    let report = compiled.report(false);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{report}")))
}

fn data_plane(pipeline: &Arc<Pipeline>, engine: EngineKind) -> Arc<VirtualDataPlane> {
    let vdp = VirtualDataPlane::new(pipeline.clone(), engine).unwrap();
    let session = CloneSession { port: Some(3), group: None, truncate: None };
    vdp.control().set_clone_session(5, Some(session)).unwrap();
    let replicas = vec![Replica { rid: 1, port: 4 }, Replica { rid: 2, port: 5 }];
    vdp.control().set_multicast_group(1, Some(replicas)).unwrap();
    vdp
}

/// What became of a packet and its copies.
#[derive(Debug, PartialEq)]
struct Outcome {
    verdict: Verdict,
    sent: Vec<(u32, Vec<u8>)>,
    lost: LostCopies,
}

fn run(executor: &mut Executor, pool: &mut Pool, packet: &[u8]) -> Outcome {
    let mut frame = pool.take_filled(packet).unwrap();
    executor.run(std::slice::from_mut(&mut frame), 0, pool);
    let verdict = frame.verdict();
    let mut sent = Vec::new();
    if verdict == Verdict::Forward {
        sent.push((frame.egress_port(), frame.bytes().to_vec()));
    }
    pool.give(frame);
    for copy in executor.copies().collect::<Vec<_>>() {
        sent.push((copy.egress_port(), copy.bytes().to_vec()));
        pool.give(copy);
    }
    assert_eq!(pool.available(), pool.frames() as usize, "frames are lost");
    Outcome { verdict, sent, lost: executor.take_lost_copies() }
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn packets(random: &mut Random, longest: usize, count: usize) -> Vec<Vec<u8>> {
    let packet = |random: &mut Random| {
        let cut = if random.below(3) == 0 { random.below(256) as u8 } else { 0 };
        let [passes, tags, clone] = [6, 7, 9].map(|n| random.below(n) as u8);
        let group = random.below(2) as u8;
        let longest = if random.below(2) == 0 { longest } else { 5 + random.below(longest as u64 - 4) as usize };
        let mut packet = vec![passes, tags, clone, cut, group];
        packet.extend((packet.len()..longest).map(|at| at as u8));
        packet
    };
    (0..count).map(|_| packet(random)).collect()
}

#[test]
fn engines_agree_on_what_fits_frames() {
    let pipeline = compile(PROGRAM);
    let interpreted = data_plane(&pipeline, EngineKind::Interp);
    let compiled = data_plane(&pipeline, EngineKind::Jit);
    let mut random = Random(1);
    let mut seen = [0; 3];
    for headroom in [0, 4, 30, GROWTH - 1, GROWTH, 64, 100, 2 * GROWTH, 192] {
        for data in [64, 300, JUMBO_BYTES] {
            let size = FrameSize { headroom, data };
            let pool = || Pool::new(600, size).unwrap();
            let (mut expected, mut found) = (Executor::new(interpreted.clone()), Executor::new(compiled.clone()));
            let mut pools = [pool(), pool()];
            let packets = packets(&mut random, data as usize, 60);
            for profiled in [true, false] {
                // The same packets with generic code, which is profiled, and then with traces.
                if profiled {
                    compiled.start_profiling(packets.len()).unwrap();
                } else {
                    compiled.respecialise().unwrap();
                }
                for packet in &packets {
                    let wanted = run(&mut expected, &mut pools[0], packet);
                    let outcome = run(&mut found, &mut pools[1], packet);
                    assert_eq!(outcome, wanted, "{size:?}, packet {packet:x?}");
                    seen[0] += usize::from(wanted.verdict == Verdict::Forward);
                    seen[1] += usize::from(wanted.verdict == Verdict::NoHeadroom);
                    seen[2] += wanted.lost.no_headroom as usize;
                    if headroom >= 2 * GROWTH && packet[0] < 2 {
                        assert_eq!(outcome.lost, LostCopies::default(), "there is room for two passes at least");
                        assert_eq!(outcome.verdict, Verdict::Forward, "{size:?}, packet {packet:x?}");
                    }
                }
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
}

/// The longest packet that ports receive may grow twice, and others until they are longer by a pass than it.
#[test]
fn the_bound_of_recirculated_packets_is_the_longest_received_and_a_pass() {
    let pipeline = compile(PROGRAM);
    let longest = JUMBO_BYTES as usize;
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let vdp = data_plane(&pipeline, engine);
        assert_eq!(vdp.headroom(), 2 * GROWTH + 4);
        let mut pool = Pool::new(8, FrameSize::JUMBO.with_headroom(vdp.headroom())).unwrap();
        let mut executor = Executor::new(vdp);
        for (length, passes, verdict) in [
            (longest, 1, Verdict::Forward),
            (longest - 60, 2, Verdict::Forward),
            (longest - 59, 2, Verdict::NoHeadroom),
            (longest - 540, 10, Verdict::Forward),
            (longest - 539, 10, Verdict::NoHeadroom),
        ] {
            let mut packet = vec![9; length];
            packet[..5].copy_from_slice(&[passes, 6, 0xff, 0, 0]);
            let outcome = run(&mut executor, &mut pool, &packet);
            assert_eq!(outcome.verdict, verdict, "{engine:?}, {length} bytes, {passes} passes");
            let sent: Vec<usize> = outcome.sent.iter().map(|(_, bytes)| bytes.len()).collect();
            let grown = length + 60 * (usize::from(passes) + 1);
            assert_eq!(sent, if verdict == Verdict::Forward { vec![grown] } else { vec![] });
        }
    }
}

#[test]
fn the_headroom_is_what_a_program_can_add() {
    let program = |headers: &str, ingress: &str, deparser: &str| {
        compile(&format!(
            "header a_t {{ bit<8> x; }} header b_t {{ bit<80> x; }} header v_t {{ varbit<160> x; }}
             struct h_t {{ a_t a; b_t b; b_t c; v_t v; {headers} }} struct m_t {{ bit<1> none; }}
             parser P(packet_in p, out h_t h, inout m_t m, inout standard_metadata_t s) {{
                 state start {{ p.extract(h.a); p.extract(h.b); p.extract(h.v, 32w8); transition accept; }} }}
             control V(inout h_t h, inout m_t m) {{ apply {{ }} }}
             control I(inout h_t h, inout m_t m, inout standard_metadata_t s) {{ apply {{ {ingress} }} }}
             control E(inout h_t h, inout m_t m, inout standard_metadata_t s) {{ apply {{ }} }}
             control D(packet_out p, in h_t h) {{ apply {{ {deparser} }} }}
             V1Switch(P(), V(), I(), E(), V(), D()) main;"
        ))
    };
    let all = "p.emit(h);";
    for (headers, ingress, deparser, bytes) in [
        ("", "s.egress_spec = 1;", all, 0),
        ("", "h.a.x = 1; h.b.setInvalid();", all, 0),
        ("", "h.c.setValid();", all, 10),
        ("", "h.c.setValid();", "p.emit(h.a);", 0),
        ("", "h.c = h.b;", all, 10),
        // It may have been extracted, or made again.
        ("", "h.b.setInvalid(); h.b.setValid();", all, 10),
        ("", "", "p.emit(h.b); p.emit(h.b);", 20),
        ("", "", "if (h.a.isValid()) { p.emit(h.b); } else { p.emit(h.b); }", 0),
        ("", "h.c.setValid();", "if (h.a.x == 1) { p.emit(h.c); } else { p.emit(h.a); }", 10),
        ("v_t w;", "h.w = h.v;", all, 20),
        ("b_t[4] t;", "h.t.push_front(1);", all, 0),
        ("b_t[4] t;", "h.t.push_front(1); h.t[0].setValid();", all, 40),
        ("b_t[4] t;", "h.t[1].setValid();", all, 10),
        ("b_t[4] t;", "h.t[1].setValid(); h.t.pop_front(1); h.t[1].setValid();", all, 40),
    ] {
        let vdp = VirtualDataPlane::new(program(headers, ingress, deparser), EngineKind::Interp).unwrap();
        assert_eq!(vdp.headroom(), bytes + 4, "{headers} {ingress} {deparser}");
    }
}

/// Packets and copies that outgrow their frames are dropped by that reason, and the sums match.
#[test]
fn outgrown_packets_and_copies_are_counted() {
    let pipeline = compile(PROGRAM);
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let wire = Wire::default();
        let (switch, mut worker) = SwitchBuilder::new(data_plane(&pipeline, engine))
            .port(1, Box::new(TestPort(wire.clone(), 64)))
            .port(2, Box::new(TestPort(Wire::default(), 64)))
            .port(3, Box::new(TestPort(Wire::default(), 64)))
            .pool(0, FrameSize { headroom: 40, data: 128 })
            .build()
            .unwrap();
        // Four tags fit a pass. A clone has those of its packet and as many more.
        for packet in [[0, 4, 9, 0, 0], [0, 5, 9, 0, 0], [0, 3, 0, 0, 0], [0, 2, 0, 0, 0]] {
            wire.offer(&packet);
        }
        worker.step();
        let TenantStats { rx_packets, tx_packets, no_headroom, copied, .. } = switch.stats().total;
        assert_eq!((rx_packets, tx_packets, no_headroom, copied), (4, 4, 2, 2), "{engine:?}");
        assert_eq!(switch.stats().total.packets_in(), switch.stats().total.packets_out(), "{engine:?}");
        let warning = switch.default_tenant().headroom_warning().unwrap();
        assert!(warning.contains("up to 124 bytes") && warning.contains("room for 40"), "{warning}");
    }
}
