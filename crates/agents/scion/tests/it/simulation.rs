//! The verilated program, programmed as the agent does it, agrees with the interpreter on random SCION packets, whole, changed and
//! cut off, with gaps and back-pressure at random: bytes, ports, counters. Links go down and hosts are added between batches.
//!
//! Needs verilator 5 and a C++ compiler: `make test-rtl-long`. `HOPWRIGHT_PACKETS` is another number of packets than usual.

use std::sync::{Arc, Mutex, PoisonError};

use crate::damage::Damaged;
use crate::pipeline;
use hopwright_dataplane::offload::Forwarded;
use hopwright_dataplane::{Count, EngineKind, Executor, FrameSize, Packet, Pool, Verdict, VirtualDataPlane};
use hopwright_ir::{ExternKind, Pipeline, TableId};
use hopwright_offload::{PartialDesign, SimulatedDesign};
use hopwright_rtl::Target;
use hopwright_scion::control::program::{self, PacketIn, Reason};
use hopwright_scion::synthetic::{self, rich_hosts, rich_links};

const NOW: u32 = 1_790_000_000;
const COUNTERS: [(&str, u64); 5] =
    [("reasons", 128), ("link_in", 4096), ("link_out", 4096), ("link_reasons", 2048), ("link_dropped", 1024)];
/// Packets of a batch at most.
const BATCH: usize = 256;

/// A data plane and what runs its packets.
struct Router {
    vdp: Arc<VirtualDataPlane>,
    executor: Executor,
    pool: Pool,
}

impl Router {
    fn new(vdp: Arc<VirtualDataPlane>, v6: bool) -> Router {
        synthetic::program(&vdp, &rich_links(v6), &rich_hosts(v6)).unwrap();
        vdp.control().key_table("hop_key").unwrap().set_key(0, synthetic::key().bytes()).unwrap();
        let pool = Pool::new(BATCH as u32, FrameSize::JUMBO).unwrap();
        Router { executor: Executor::new(vdp.clone()), vdp, pool }
    }

    /// What becomes of packets: egress port and bytes of those that are forwarded.
    fn run(&mut self, frames: &[(u16, Vec<u8>)], now_us: u64) -> Vec<Option<(u32, Vec<u8>)>> {
        let mut fill = |(port, bytes): &(u16, Vec<u8>)| {
            let mut packet = self.pool.take_filled(bytes).unwrap();
            packet.set_ingress_port(u32::from(*port));
            packet
        };
        let mut packets: Vec<Packet> = frames.iter().map(&mut fill).collect();
        self.executor.process_batch(&mut packets, now_us);
        let fate = |packet: Packet| {
            assert!(matches!(packet.verdict(), Verdict::Forward | Verdict::Drop), "{:?}", packet.verdict());
            let sent = packet.verdict() == Verdict::Forward;
            let fate = sent.then(|| (packet.egress_port(), packet.bytes().to_vec()));
            self.pool.give(packet);
            fate
        };
        packets.into_iter().map(fate).collect()
    }

    /// Changes a table: removes an entry, or adds it again.
    fn change(&self, table: TableId, number: usize, removed: &mut Vec<hopwright_ir::TableEntry>) {
        let table = &self.vdp.control()[table];
        if number.is_multiple_of(2) {
            let mut entries = table.entries();
            let entry = entries.swap_remove(number % entries.len());
            table.delete(&entry.matches, entry.priority).unwrap();
            removed.push(entry);
        } else {
            removed.drain(..).for_each(|entry| table.insert(entry).unwrap());
        }
    }
}

fn packets(usual: usize) -> usize {
    std::env::var("HOPWRIGHT_PACKETS").map_or(usual, |text| text.parse().expect("HOPWRIGHT_PACKETS is a number"))
}

fn start(pipeline: &Arc<Pipeline>, target: &Target, seed: Option<u64>) -> SimulatedDesign {
    // A design of this size takes minutes and a gigabyte to be built: one at a time.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let design = SimulatedDesign::start(pipeline, target, seed).unwrap_or_else(|e| panic!("{e}"));
    println!("{} stages", design.hardware().schedule.stages);
    design
}

fn agrees(target: &Target, v6: bool, packets: usize, seed: Option<u64>) {
    let pipeline = pipeline();
    let design = start(&pipeline, target, seed);
    let hardware = VirtualDataPlane::offloaded(pipeline.clone(), Box::new(design)).unwrap();
    let interp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Interp).unwrap();
    let (mut hardware, mut interp) = (Router::new(hardware, v6), Router::new(interp, v6));
    let control = interp.vdp.control().clone();
    let changed = |table: &TableId| control[*table].len() > 1 && !pipeline[*table].const_entries;
    let tables: Vec<TableId> = (0..pipeline.tables.len() as u32).map(TableId).filter(changed).collect();
    let mut removed = [Vec::new(), Vec::new()];
    let mut traffic = Damaged::new(seed.unwrap_or(7), v6, NOW);
    let (mut done, mut sent) = (0, 0);
    for batch in 0.. {
        if done >= packets {
            break;
        }
        let count = 1 + (batch * 7919) % BATCH.min(packets - done);
        // Hardware drops packets without bytes uncounted.
        let mut frames: Vec<_> = (0..count).map(|_| traffic.next_frame()).collect();
        frames.retain(|(_, bytes)| !bytes.is_empty());
        let now_us = u64::from(NOW) * 1_000_000 + batch as u64;
        let (wanted, found) = (interp.run(&frames, now_us), hardware.run(&frames, now_us));
        for ((wanted, found), (port, bytes)) in wanted.iter().zip(&found).zip(&frames) {
            assert_eq!(wanted, found, "batch {batch}, from port {port}: {bytes:02x?}");
        }
        done += count;
        sent += wanted.iter().flatten().count();
        if batch % 4 == 3 {
            let (turn, [by_interp, by_hardware]) = (batch / 4, &mut removed);
            let table = tables[turn / 2 % tables.len()];
            interp.change(table, turn, by_interp);
            hardware.change(table, turn, by_hardware);
        }
    }
    for (name, cells) in COUNTERS {
        let counts = |router: &Router| router.vdp.control().counter(name).unwrap().read_range(0..cells);
        let (wanted, found) = (counts(&interp), counts(&hardware));
        let ExternKind::Counter { unit, .. } = pipeline[pipeline.extern_by_name(name).unwrap()].kind else {
            panic!("{name}")
        };
        // A counter in hardware has only the fields of its unit.
        let asked = |count: &Count| (count.packets, unit.bytes().then_some(count.bytes));
        for (index, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
            assert_eq!(asked(wanted), asked(found), "{name}[{index}]");
        }
        assert!(wanted.iter().any(|count| count.packets > 0), "{name} counts nothing");
    }
    assert!(sent > done / 10, "{sent} of {done} are sent");
    println!("{done} packets, {sent} sent");
}

/// Packets that a chip leaves to software become what the whole program makes of them, and are counted once.
fn left_out_is_done_in_software(v6: bool) {
    let packets = packets(2_000);
    let whole = pipeline();
    let macros = ["NO_EPIC", "NO_ONE_HOP", "NO_OTHER_KEYS", "NO_IPV6", "PROFILE_ULTRASCALE"].map(str::to_string);
    let part = Arc::new(program::compile_part(&macros).pipeline.expect("a part of it compiles"));
    let chip = start(&part, &Target::by_name("ecp5-85-512").unwrap(), None);
    let software = VirtualDataPlane::new(whole.clone(), EngineKind::Interp).unwrap();
    let left_out = |sent: &Forwarded| program::is_left_out(sent.port, &sent.bytes);
    let design = PartialDesign::new(part, Box::new(chip), software, left_out).unwrap();
    let hardware = VirtualDataPlane::offloaded(whole.clone(), Box::new(design)).unwrap();
    let interp = VirtualDataPlane::new(whole, EngineKind::Interp).unwrap();
    let (mut hardware, mut interp) = (Router::new(hardware, v6), Router::new(interp, v6));
    // Hardware and software each let a BFD packet of a link through in a while: with paths of both kinds it gets two through.
    let is_bfd = |(_, bytes): &(u32, Vec<u8>)| {
        PacketIn::split(bytes).is_some_and(|(header, _)| header.reason == Reason::Bfd as u8)
    };
    let mut traffic = Damaged::new(11, v6, NOW);
    let now_us = u64::from(NOW) * 1_000_000;
    for batch in 0..packets.div_ceil(BATCH) {
        let frames: Vec<_> = (0..BATCH.min(packets - batch * BATCH)).map(|_| traffic.next_frame()).collect();
        let (wanted, found) = (interp.run(&frames, now_us), hardware.run(&frames, now_us));
        for ((wanted, found), (port, bytes)) in wanted.iter().zip(&found).zip(&frames) {
            if wanted.is_none() && found.as_ref().is_some_and(is_bfd) {
                continue;
            }
            assert_eq!(wanted, found, "batch {batch}, from port {port}: {bytes:02x?}");
        }
    }
    let count =
        |router: &Router, name: &str, index| router.vdp.control().counter(name).unwrap().read(index).unwrap().packets;
    let left = count(&hardware, "reasons", u64::from(Reason::FeatureLeftOut as u8));
    assert!(left > 100, "{left} packets are left to software");
    println!("{left} of {packets} packets are left to software");
    for name in ["link_in", "link_out"] {
        for index in 0..4096 {
            assert_eq!(count(&hardware, name, index), count(&interp, name, index), "{name}[{index}]");
        }
    }
}

#[test]
#[ignore = "needs verilator"]
fn left_out_with_ipv4_inside() {
    left_out_is_done_in_software(false);
}

#[test]
#[ignore = "needs verilator"]
fn left_out_with_ipv6_inside() {
    left_out_is_done_in_software(true);
}

#[test]
#[ignore = "needs verilator"]
fn ipv4_inside() {
    agrees(&Target::by_name("ecp5-85-512").unwrap(), false, packets(10_000), None);
}

#[test]
#[ignore = "needs verilator"]
fn ipv6_inside_under_pressure() {
    agrees(&Target::by_name("ecp5-85-512").unwrap(), true, packets(10_000), Some(3));
}

/// Ciphers are folded further, and engines shared by more.
#[test]
#[ignore = "needs verilator"]
fn ipv4_inside_with_packets_apart() {
    let target = Target { gap: 12, ..Target::by_name("ecp5-85-256").unwrap() };
    agrees(&target, false, packets(10_000), Some(5));
}
