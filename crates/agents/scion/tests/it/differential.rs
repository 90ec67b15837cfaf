//! Interpreter and machine code agree on random SCION packets: verdicts, ports, bytes, parser errors and counters. So do the program
//! and its layouts of pipes.

use std::sync::Arc;

use crate::{ROUTER, WITH_HUMMINGBIRD, pipeline};
use hopwright_dataplane::trace_ir::eval::{Input, Outcome};
use hopwright_dataplane::trace_ir::recording::Recording;
use hopwright_dataplane::trace_ir::verify::verify;
use hopwright_dataplane::{EngineKind, Executor, FrameSize, Packet, Pool, VirtualDataPlane};
use hopwright_scion::config::layout::Layout;
use hopwright_scion::control::{program, tables};
use hopwright_scion::synthetic::{self, Traffic, rich_hosts, rich_links};

const NOW: u32 = 1_790_000_000;
const BATCH: usize = 32;
/// Batches after which traces are compiled for other packets.
const LEARN_EVERY: usize = 128;
/// Batches behind that from which on the router has no configuration, and has it again.
const UNCONFIGURED: usize = 100;
const CONFIGURED: usize = 104;
/// More than the routers here have links for: cells that are looked at.
const CELLS: u64 = 16 << 10;
/// Packets that are profiled. Hardly two random packets take the same path, so these come again and again.
const REGULARS: usize = 24;

struct Router {
    vdp: Arc<VirtualDataPlane>,
    executor: Executor,
    pool: Pool,
}

impl Router {
    fn new(kind: EngineKind, v6: bool) -> Router {
        // Machine code is that which is built in.
        let vdp = match kind {
            EngineKind::Interp => ROUTER.data_plane(kind),
            _ => program::BuiltIn::read().run(kind).unwrap(),
        };
        Router::of(vdp, v6)
    }

    fn of(vdp: Arc<VirtualDataPlane>, v6: bool) -> Router {
        synthetic::program(&vdp, &rich_links(v6), &rich_hosts(v6)).unwrap();
        tables::set_clock(&vdp, &rich_links(v6), u64::from(NOW) * 1_000_000).unwrap();
        let executor = Executor::new(vdp.clone());
        Router { vdp, executor, pool: Pool::new(BATCH as u32, FrameSize::JUMBO).unwrap() }
    }

    fn process(&mut self, frames: &[(u16, Vec<u8>)]) -> Vec<Packet> {
        let mut batch: Vec<Packet> = frames
            .iter()
            .map(|(port, bytes)| {
                let mut packet = self.pool.take().unwrap();
                assert!(packet.fill(bytes));
                packet.set_ingress_port(u32::from(*port));
                packet
            })
            .collect();
        self.executor.process_batch(&mut batch, u64::from(NOW) * 1_000_000);
        batch
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn compare(seed: u64, v6: bool, packets: usize) {
    compare_routers(Router::new(EngineKind::Interp, v6), Router::new(EngineKind::Jit, v6), seed, v6, packets);
}

fn compare_routers(mut interp: Router, mut jit: Router, seed: u64, v6: bool, packets: usize) {
    let mut traffic = Traffic::new(seed, v6, NOW);
    let (mut regulars, mut forwarded) = (Vec::new(), Vec::new());
    let configured =
        interp.vdp.control()[interp.vdp.control().table("router").map(|t| t.id()).unwrap()].default_action();
    for batch in 0..packets.div_ceil(BATCH) {
        if batch % LEARN_EVERY == 1 && !forwarded.is_empty() {
            regulars = std::mem::take(&mut forwarded);
            jit.vdp.start_profiling(REGULARS).unwrap();
            for router in [&mut interp, &mut jit] {
                router.process(&regulars).into_iter().for_each(|packet| router.pool.give(packet));
            }
            let learned = jit.vdp.respecialise().unwrap().unwrap();
            assert!(learned.covered > regulars.len() / 2, "{learned:?}");
        }
        // For a while there is no configuration, and the traces are not recompiled.
        for router in [&interp, &jit] {
            let table = router.vdp.control().table("router").map(|t| t.id()).unwrap();
            match batch % LEARN_EVERY {
                UNCONFIGURED => router.vdp.control()[table].set_default(None).unwrap(),
                CONFIGURED => router.vdp.control()[table].set_default(Some(configured.clone())).unwrap(),
                _ => {}
            }
        }
        let is_regular = |at: usize| at.is_multiple_of(3);
        let frame = |at: usize| match regulars.get(at / 3 % REGULARS) {
            Some(regular) if is_regular(at) => regular.clone(),
            _ => traffic.next_frame(),
        };
        let frames: Vec<_> = (batch * BATCH..(batch + 1) * BATCH).map(frame).collect();
        let (a, b) = (interp.process(&frames), jit.process(&frames));
        for (i, (a, b)) in a.iter().zip(&b).enumerate() {
            let place = || format!("seed {seed}, packet {}: {}", batch * BATCH + i, hex(&frames[i].1));
            assert_eq!(a.verdict(), b.verdict(), "{}", place());
            assert_eq!(a.parser_error(), b.parser_error(), "{}", place());
            if a.verdict() == hopwright_dataplane::Verdict::Forward {
                assert_eq!(a.egress_port(), b.egress_port(), "{}", place());
                assert_eq!(hex(a.bytes()), hex(b.bytes()), "{}", place());
                let random = !is_regular(batch * BATCH + i);
                if random && a.egress_port() < program::CPU_PORT && forwarded.len() < REGULARS {
                    forwarded.push(frames[i].clone());
                }
            }
        }
        a.into_iter().for_each(|p| interp.pool.give(p));
        b.into_iter().for_each(|p| jit.pool.give(p));
    }
    for counter in ["reasons", "link_in", "link_out", "link_reasons", "link_dropped"] {
        let of = |router: &Router| router.vdp.control().counter(counter).map(|c| c.read_range(0..CELLS)).unwrap();
        assert_eq!(of(&interp), of(&jit), "{counter}");
    }
    let (run, left) = jit.vdp.traces().counts();
    assert!((run - left) as usize > packets / 5, "{left} of {run} packets left the hot paths");
    // The traffic is worth the comparison: a good part gets through, and nearly every reason occurs.
    let reasons = interp.vdp.control().counter("reasons").map(|c| c.read_all()).unwrap();
    let count = |r: program::Reason| reasons[r as usize].packets;
    assert!(count(program::Reason::None) as usize > packets / 8, "{}", count(program::Reason::None));
    let absent: Vec<_> = program::Reason::ALL.iter().filter(|r| count(**r) == 0).collect();
    // The routers take packets by any device; `forwarding.rs` has one that does not. Their program has all features.
    assert_eq!(absent, [&program::Reason::WrongDevice, &program::Reason::FeatureLeftOut], "of {packets}");
}

/// Random packets of a comparison; `HOPWRIGHT_TIMES=N` are N times as many.
fn packets(usual: usize) -> usize {
    usual * std::env::var("HOPWRIGHT_TIMES").map_or(1, |n| n.parse().expect("HOPWRIGHT_TIMES is a number"))
}

/// `HOPWRIGHT_SEEDS=FIRST..END` generates other packets than usual.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("HOPWRIGHT_SEEDS") else { return usual..usual + 1 };
    let (first, end) = text.split_once("..").expect("HOPWRIGHT_SEEDS is FIRST..END");
    first.parse().expect("a number")..end.parse().expect("a number")
}

#[test]
fn ipv4_inside() {
    seeds(1).for_each(|seed| compare(seed, false, packets(60_000)));
}

#[test]
fn ipv6_inside() {
    seeds(2).for_each(|seed| compare(seed, true, packets(60_000)));
}

/// With path type Hummingbird, too; `hummingbird` has its packets.
#[test]
fn with_hummingbird() {
    let router = |kind| Router::of(WITH_HUMMINGBIRD.data_plane(kind), false);
    compare_routers(router(EngineKind::Interp), router(EngineKind::Jit), 6, false, packets(30_000));
}

/// Traces in the trace IR say what the interpreter does: of the packets that they were learned from, which complete them, and of
/// random ones.
#[test]
fn trace_ir_and_interpreter_agree() {
    for (seed, v6) in [(4, false), (5, true)] {
        let pipeline = pipeline();
        let (mut interp, mut jit) = (Router::new(EngineKind::Interp, v6), Router::new(EngineKind::Jit, v6));
        let mut traffic = Traffic::new(seed, v6, NOW);
        let mut regulars: Vec<(u16, Vec<u8>)> = Vec::new();
        while regulars.len() < REGULARS {
            let frame = traffic.next_frame();
            for packet in jit.process(std::slice::from_ref(&frame)) {
                let sent = packet.verdict() == hopwright_dataplane::Verdict::Forward;
                if sent && packet.egress_port() < program::CPU_PORT {
                    regulars.push(frame.clone());
                }
                jit.pool.give(packet);
            }
        }
        jit.vdp.start_profiling(REGULARS).unwrap();
        jit.process(&regulars).into_iter().for_each(|packet| jit.pool.give(packet));
        let profile = jit.vdp.take_profile().unwrap();
        let code = jit.vdp.compile_traces(&profile, &[]).unwrap().expect("traces");
        let ir = jit.vdp.trace_ir(&code).unwrap();
        verify(&ir).unwrap();
        let mut completed = 0;
        let frames = regulars.into_iter().chain((0..200).map(|_| traffic.next_frame()));
        for (port, packet) in frames.collect::<Vec<_>>() {
            let mut recording = Recording::new(&pipeline);
            let now_us = u64::from(NOW) * 1_000_000;
            let output = interp.executor.process_observed(&packet, port, now_us, &mut recording).unwrap();
            let outcome = recording.compare(&ir, Input { packet: &packet, port, now_us }, &output);
            let outcome = outcome.unwrap_or_else(|e| panic!("{e}: {}", hex(&packet)));
            completed += usize::from(matches!(outcome, Outcome::Completed { .. }));
        }
        assert!(completed >= profile.covered(&code), "{completed} packets");
    }
}

/// Compares a layout with the plain program. From the second half on, hops have to be of the next key.
fn compare_layout(layout: Layout, kind: EngineKind, v6: bool, packets: usize) {
    let mut plain = Router::of(program::BuiltIn::read().run(EngineKind::Jit).unwrap(), v6);
    let mut piped = Router::of(layout.run(kind).unwrap(), v6);
    let mut traffic = Traffic::new(3, v6, NOW);
    let batches = packets.div_ceil(BATCH);
    for batch in 0..batches {
        if batch == batches / 2 {
            for control in [plain.vdp.control(), piped.vdp.control()] {
                control.key_table("hop_key").unwrap().set_key(0, &[1; 16]).unwrap();
                control.key_table("other_key").unwrap().set_key(1, synthetic::key().bytes()).unwrap();
                control.set_default("other_keys", "several_keys", &[]).unwrap();
            }
        }
        let frames: Vec<_> = (0..BATCH).map(|_| traffic.next_frame()).collect();
        let (a, b) = (plain.process(&frames), piped.process(&frames));
        for (i, (a, b)) in a.iter().zip(&b).enumerate() {
            let place =
                || format!("{layout}, packet {}, port {}: {}", batch * BATCH + i, frames[i].0, hex(&frames[i].1));
            assert_eq!(a.verdict(), b.verdict(), "{}", place());
            if a.verdict() == hopwright_dataplane::Verdict::Forward {
                assert_eq!(a.egress_port(), b.egress_port(), "{}", place());
                assert_eq!(hex(a.bytes()), hex(b.bytes()), "{}", place());
            }
        }
        a.into_iter().for_each(|p| plain.pool.give(p));
        b.into_iter().for_each(|p| piped.pool.give(p));
    }
    for counter in ["reasons", "link_in", "link_out", "link_reasons", "link_dropped"] {
        let of = |router: &Router| -> Vec<u64> {
            let cells = router.vdp.control().counter(counter).map(|c| c.read_range(0..CELLS)).unwrap();
            cells.iter().map(|count| count.packets).collect()
        };
        assert_eq!(of(&plain), of(&piped), "{layout}: {counter}");
    }
    let reasons = plain.vdp.control().counter("reasons").map(|c| c.read_all()).unwrap();
    assert!(reasons[0].packets as usize > packets / 8, "{}", reasons[0].packets);
}

const LAYOUTS: [(Layout, bool); 3] = [(Layout::OneBr, true), (Layout::OneBrOneAes, false), (Layout::OneBrTwoAes, true)];

#[test]
fn layouts_forward_as_the_plain_program() {
    for (layout, v6) in LAYOUTS {
        compare_layout(layout, EngineKind::Jit, v6, 5_000);
    }
    compare_layout(Layout::OneBrOneAes, EngineKind::Interp, true, 200);
}

#[test]
#[ignore = "takes long"]
fn layouts_forward_many_packets_as_the_plain_program() {
    for (layout, v6) in LAYOUTS {
        compare_layout(layout, EngineKind::Jit, v6, 100_000);
    }
}
