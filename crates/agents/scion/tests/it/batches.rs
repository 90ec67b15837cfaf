//! What becomes of packets, their order and what is counted depend neither on the batch size nor on the number of workers,
//! before traces are compiled and after.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ROUTER;
use hopwright_dataplane::{
    Count, EngineKind, Executor, FrameSize, Packet, Pool, Port, SwitchBuilder, Verdict, VirtualDataPlane, Worker,
};
use hopwright_ir::ExternKind;
use hopwright_ports::{MemoryPort, Wire};
use hopwright_scion::control::program::{CPU_PORT, PacketIn, URGENT_CPU_PORT};
use hopwright_scion::synthetic::{
    self, CASES, INTERNAL_PORT, Traffic, brload_hosts, brload_links, rich_hosts, rich_links,
};

/// Around the ends of what is done at once: machine code encrypts for 16 packets at a time.
const BATCHES: [usize; 12] = [1, 2, 3, 15, 16, 17, 33, 64, 100, 240, 255, 256];
const WORKERS: [usize; 2] = [1, 2];
const NOW: u32 = 1_790_000_000;

/// More than the routers here have links for: cells that are looked at.
const CELLS: u64 = 16 << 10;

/// Counts to zero and registers as at the beginning.
fn reset(vdp: &VirtualDataPlane) {
    for object in &vdp.pipeline().externs {
        match object.kind {
            ExternKind::Counter { size, .. } => {
                (0..size.min(CELLS)).for_each(|at| {
                    vdp.control().counter(&object.name).and_then(|c| c.write(at, Count::default())).unwrap()
                });
            }
            ExternKind::Register { size, .. } => {
                (0..size.min(16))
                    .for_each(|at| vdp.control().register(&object.name).and_then(|r| r.write(at, 0u32)).unwrap());
            }
            _ => {}
        }
    }
}

/// Cells of counters, by name.
type Counters = Vec<(String, Vec<Count>)>;

fn counters(vdp: &VirtualDataPlane) -> Counters {
    let objects = vdp.pipeline().externs.iter().filter(|o| matches!(o.kind, ExternKind::Counter { .. }));
    let counters: Vec<_> = objects
        .map(|o| (o.name.clone(), vdp.control().counter(&o.name).map(|c| c.read_range(0..CELLS)).unwrap()))
        .collect();
    assert!(counters.iter().all(|(_, cells)| cells.iter().any(|count| count.packets > 0)));
    counters
}

/// Packets to profile: so few that nearly each path gets a trace.
const RECORDED: usize = 24;

/// Has traces compiled for the paths of these packets.
fn learn(vdp: &Arc<VirtualDataPlane>, frames: &[(u16, Vec<u8>)], now_us: u64) {
    vdp.start_profiling(RECORDED).unwrap();
    Lines::new(vdp, 1).run(frames, 64, now_us);
    let learned = vdp.respecialise().unwrap().unwrap();
    assert!(learned.packets == RECORDED && learned.covered > RECORDED * 3 / 4, "{learned:?}");
}

/// Executors of a data plane, one for each worker, that get packets of their own.
struct Lines(Vec<(Executor, Pool)>);

type Fate = (Verdict, u32, u32, Vec<u8>);

impl Lines {
    fn new(vdp: &Arc<VirtualDataPlane>, workers: usize) -> Lines {
        Lines(
            (0..workers)
                .map(|_| (Executor::new(vdp.clone()), Pool::new(256, FrameSize::for_mtu(1500)).unwrap()))
                .collect(),
        )
    }

    /// What becomes of the packets, in their order. Those of one sender go to one worker.
    fn run(&mut self, frames: &[(u16, Vec<u8>)], batch: usize, now_us: u64) -> Vec<Fate> {
        let mut shares = vec![Vec::new(); self.0.len()];
        for (at, (port, bytes)) in frames.iter().enumerate() {
            let sender = bytes.get(26..30).map_or(0, |source| source.iter().map(|b| *b as usize).sum());
            shares[sender % self.0.len()].push((at, *port, bytes.as_slice()));
        }
        assert!(shares.iter().all(|share| share.len() > frames.len() / 5));
        let mut fates = BTreeMap::new();
        std::thread::scope(|scope| {
            let lines = self.0.iter_mut().zip(&shares);
            let threads: Vec<_> =
                lines.map(|(line, share)| scope.spawn(move || run_share(line, share, batch, now_us))).collect();
            threads.into_iter().for_each(|thread| fates.extend(thread.join().unwrap()));
        });
        assert_eq!(fates.len(), frames.len());
        fates.into_values().collect()
    }
}

fn run_share(
    (executor, pool): &mut (Executor, Pool),
    share: &[(usize, u16, &[u8])],
    batch: usize,
    now_us: u64,
) -> Vec<(usize, Fate)> {
    let mut fates = Vec::with_capacity(share.len());
    for share in share.chunks(batch) {
        let mut packets: Vec<Packet> = Vec::with_capacity(batch);
        for (_, port, bytes) in share {
            let mut packet = pool.take_filled(bytes).unwrap();
            packet.set_ingress_port(u32::from(*port));
            packets.push(packet);
        }
        executor.process_batch(&mut packets, now_us);
        for ((at, ..), packet) in share.iter().zip(packets) {
            let (port, bytes) = match packet.verdict() {
                Verdict::Forward => (packet.egress_port(), packet.bytes().to_vec()),
                _ => (0, Vec::new()),
            };
            fates.push((*at, (packet.verdict(), packet.parser_error(), port, bytes)));
            pool.give(packet);
        }
    }
    fates
}

#[test]
fn random_packets() {
    let data_plane = |kind| {
        let vdp = ROUTER.data_plane(kind);
        synthetic::program(&vdp, &rich_links(false), &rich_hosts(false)).unwrap();
        vdp
    };
    let now_us = u64::from(NOW) * 1_000_000;
    let mut traffic = Traffic::new(5, false, NOW);
    let random: Vec<_> = (0..1300).map(|_| traffic.next_frame()).filter(|(_, bytes)| bytes.len() <= 1500).collect();
    // Hardly two of them take the same path; some that are forwarded come again and again.
    let fates = Lines::new(&data_plane(EngineKind::Interp), 1).run(&random[..300], 1, now_us);
    let forwarded = random.iter().zip(&fates).filter(|(_, (.., port, _))| (1..CPU_PORT).contains(port));
    let regular: Vec<_> = forwarded.map(|(frame, _)| frame.clone()).take(RECORDED).collect();
    let mut regulars = regular.iter().cycle();
    let mut frames = Vec::new();
    for (i, frame) in random.iter().enumerate() {
        frames.push(frame.clone());
        frames.extend(regulars.by_ref().take(i % 5).cloned());
    }
    let oracle = data_plane(EngineKind::Interp);
    let expected = Lines::new(&oracle, 1).run(&frames, 1, now_us);
    let forwarded = expected.iter().filter(|(verdict, ..)| *verdict == Verdict::Forward).count();
    assert!((frames.len() / 3..frames.len()).contains(&forwarded), "{forwarded}");
    let counted = counters(&oracle);

    let vdp = data_plane(EngineKind::Jit);
    for learned in [false, true] {
        if learned {
            learn(&vdp, &regular, now_us);
        }
        for (workers, batch) in WORKERS.iter().flat_map(|w| BATCHES.map(|b| (*w, b))) {
            reset(&vdp);
            let mut lines = Lines::new(&vdp, workers);
            let fates = lines.run(&frames, batch, now_us);
            let place = || format!("{workers} workers, batches of {batch}, learned: {learned}");
            for (at, (found, expected)) in fates.iter().zip(&expected).enumerate() {
                assert_eq!(found, expected, "{}: packet {at}", place());
            }
            assert!(counters(&vdp) == counted, "{}: counters", place());
            let (run, left) = vdp.traces().counts();
            // Without hot paths nobody leaves them.
            assert!(left < run - run / 4 && (left > 0) == learned, "{}: {left} of {run} left the hot paths", place());
        }
    }
}

/// By where they leave and where they came in, what packets have become, by number.
type Sent = BTreeMap<(u32, usize), BTreeMap<u32, Vec<u8>>>;

/// The two ports that packets of [`CASES`] come in by.
const INGRESS: [u16; 2] = [INTERNAL_PORT, 2];
/// A frame's version, traffic class and flow, of which the last 20 bits say where it came in and its number.
const FLOW: usize = 14 + 20 + 8;

/// Adds what left a worker by one port, and checks that packets that came in by one port are in their order.
fn add(sent: &mut Sent, egress: u32, frames: Vec<Vec<u8>>) {
    let mut last = BTreeMap::new();
    for frame in frames {
        let flow = u32::from_be_bytes(frame[FLOW..FLOW + 4].try_into().unwrap());
        let (ingress, number) = ((flow >> 16 & 15) as usize, flow & 0xffff);
        let before = last.insert(ingress, number);
        assert!(before.is_none_or(|before| before < number), "{number} behind {before:?} at port {egress}");
        sent.entry((egress, ingress)).or_default().insert(number, frame);
    }
}

/// Frames for a port: of all cases that come in by it and of several sizes, some with a wrong MAC, some cut off.
fn frames(ingress: usize, count: u32, now_s: u32) -> Vec<Vec<u8>> {
    let cases: Vec<_> = CASES.iter().filter(|case| case.ingress_port == INGRESS[ingress]).collect();
    let frame = |number: u32| {
        let case = cases[number as usize % cases.len()];
        let size = [200, 400, 1000][number as usize / 4 % 3];
        let mut bytes = case.frame(size, (ingress as u32) << 16 | number, now_s).unwrap();
        match number % 11 {
            // Behind SCION's headers of 12 and 24 bytes and an info field or two are hop fields of 12, whose last six
            // are the MAC. One of them is the router's.
            5 => bytes[FLOW + 12 + 24 + 4..][..8 * 2 + 12 * 2].iter_mut().for_each(|b| *b ^= 0x10),
            8 => bytes.truncate(120),
            _ => {}
        }
        bytes
    };
    (0..count).map(frame).collect()
}

/// Runs frames through a switch; gives what left it, what the agent got, and what was counted.
fn switch(
    vdp: &Arc<VirtualDataPlane>,
    frames: &[Vec<Vec<u8>>; 2],
    workers: usize,
    batch: usize,
) -> (Sent, Vec<u64>, Counters) {
    let total: usize = frames.iter().map(Vec::len).sum();
    let pools = (0..workers).map(|_| Pool::new(600, FrameSize::for_mtu(1500)).unwrap()).collect();
    let mut builder = SwitchBuilder::new(vdp.clone()).batch(batch).pools(pools).cpu_queue(total);
    builder = builder.cpu_port(CPU_PORT).urgent_cpu_port(URGENT_CPU_PORT);
    let mut wires: Vec<(u32, Vec<Wire>)> = Vec::new();
    for number in [u32::from(INTERNAL_PORT), 2, 3] {
        let (ports, ends): (Vec<_>, Vec<_>) = (0..workers).map(|w| MemoryPort::new(format!("{number}/{w}"))).unzip();
        builder = builder.ports(number, ports.into_iter().map(|p| Box::new(p) as Box<dyn Port>).collect());
        wires.push((number, ends));
    }
    for (frames, (_, ends)) in frames.iter().zip(&wires) {
        frames.iter().enumerate().for_each(|(i, frame)| ends[i % workers].send(frame.clone()));
    }
    wires.iter().flat_map(|(_, ends)| ends).for_each(Wire::close);
    let (switch, all) = builder.build_workers().unwrap();
    std::thread::scope(|scope| {
        for mut worker in all {
            scope.spawn(move || Worker::run(&mut worker));
        }
    });
    let mut sent = Sent::new();
    for (number, ends) in &wires {
        ends.iter().for_each(|wire| add(&mut sent, *number, wire.receive_all()));
    }
    // What two workers hand to the agent is mixed.
    let punted = std::iter::from_fn(|| switch.default_tenant().cpu().try_receive());
    let punted: Vec<Vec<u8>> = punted.map(|p| PacketIn::split(&p).unwrap().1.to_vec()).collect();
    for worker in 0..workers {
        let number = |frame: &[u8]| u16::from_be_bytes(frame[FLOW + 2..FLOW + 4].try_into().unwrap());
        let its = punted.iter().filter(|frame| usize::from(number(frame)) % workers == worker);
        add(&mut sent, CPU_PORT, its.cloned().collect());
    }
    let stats = switch.stats();
    assert!(stats.total.workers.iter().all(|w| w.packets > 0), "every worker worked");
    assert_eq!(stats.packets_in(), stats.packets_out());
    let mut counts = vec![
        stats.total.packets,
        stats.total.punted,
        stats.total.punt_lost,
        stats.total.dropped_by_program,
        stats.total.faults,
    ];
    counts.extend(stats.ports.iter().flat_map(|p| [p.rx_packets, p.rx_bytes, p.tx_packets, p.tx_bytes, p.tx_lost]));
    counts.extend(&stats.total.parser_errors);
    (sent, counts, counters(vdp))
}

#[test]
fn a_switch() {
    // A worker takes the system's time; the packets are good for hours.
    let now_us = hopwright_dataplane::wall_clock_us();
    let now_s = (now_us / 1_000_000) as u32;
    let frames = [frames(0, 1500, now_s), frames(1, 1500, now_s)];
    let vdp = ROUTER.data_plane(EngineKind::Jit);
    synthetic::program(&vdp, &brload_links(), &brload_hosts()).unwrap();
    let expected = switch(&vdp, &frames, 1, 1);
    let left: BTreeMap<_, usize> = expected.0.iter().map(|(exit, sent)| (*exit, sent.len())).collect();
    let inside = u32::from(INTERNAL_PORT);
    let exits = [(2, 0), (3, 1), (inside, 1), (CPU_PORT, 0), (CPU_PORT, 1)];
    assert!(exits.iter().all(|exit| left[exit] > 50) && left.len() == exits.len(), "{left:?}");
    assert!(left.values().sum::<usize>() < 2900, "some are dropped: {left:?}");
    for learned in [false, true] {
        if learned {
            learn(
                &vdp,
                &(0..RECORDED).map(|i| (INGRESS[i % 2], frames[i % 2][i / 2].clone())).collect::<Vec<_>>(),
                now_us,
            );
        }
        for (workers, batch) in WORKERS.iter().flat_map(|w| BATCHES.map(|b| (*w, b))) {
            reset(&vdp);
            let found = switch(&vdp, &frames, workers, batch);
            let place = format!("{workers} workers, batches of {batch}, learned: {learned}");
            assert_eq!(found.1, expected.1, "{place}");
            assert!(found.0 == expected.0, "{place}: packets");
            assert!(found.2 == expected.2, "{place}: counters");
        }
    }
}
