//! `hopwright bench scion --engine rtl`: clock cycles of a packet in simulated hardware, and what they mean at the clock that the
//! target aims at.
//!
//! Packets enter back to back. The slower side, in or out, gives the cycles of a packet; nothing depends on the machine that
//! simulates.

use std::sync::{Arc, PoisonError};

use hopwright_abi::Verdict;
use hopwright_dataplane::{Executor, FrameSize, Packet, Pool, VirtualDataPlane, wall_clock_us};
use hopwright_offload::{DEFAULT_TARGET, SimulatedDesign};
use hopwright_rtl::Target;
use hopwright_scion::synthetic::{self, CASES, Case};
use serde::Serialize;

use crate::cli::bench::BenchScionArgs;
use crate::compile;
use crate::failure::Failure;

/// Packets of a record: more than there are stages and places in FIFOs.
const PACKETS: usize = 1024;
/// Bytes of an Ethernet frame on the wire besides those that the design sees: preamble, checksum, gap.
const WIRE_BYTES: usize = 24;
/// The case of packets of all cases in turn.
const MIX: &str = "mix";

/// One measurement.
#[derive(Debug, Serialize)]
struct Record {
    case: &'static str,
    /// Bytes of a packet; of the mix, their mean.
    size: f64,
    packets: usize,
    cycles_per_packet: f64,
    /// Packets that were lost.
    dropped: u64,
    /// From the last word in to the first word out, with nothing else under way.
    latency_cycles: u64,
    latency_ns: f64,
    clock_mhz: u32,
    mpps: f64,
    /// Of a link that is full of these packets, with what Ethernet adds.
    gbps_on_wire: f64,
    /// What the simulation reaches on this machine.
    simulated_per_second: f64,
}

struct Bench {
    executor: Executor,
    pool: Pool,
    activity: Arc<std::sync::Mutex<hopwright_offload::Activity>>,
    clock_mhz: u32,
    word: usize,
}

/// Measures the border router in simulated hardware.
pub(super) fn run(args: &BenchScionArgs) -> Result<(), Failure> {
    let pipeline = compile::printed(hopwright_scion::control::program::compile(true))?;
    let target = Target::by_name(DEFAULT_TARGET).expect("the default is a target");
    let design =
        SimulatedDesign::start(&pipeline, &target, None).map_err(|e| crate::hardware::not_offloaded(&pipeline, &e))?;
    let activity = design.activity();
    let vdp = VirtualDataPlane::offloaded(pipeline, Box::new(design)).map_err(Failure::message)?;
    synthetic::program(&vdp, &synthetic::brload_links(), &synthetic::brload_hosts())?;
    let pool = Pool::new(PACKETS as u32, FrameSize::JUMBO)?;
    let (clock_mhz, word) = (target.clock_mhz, target.bus_bytes as usize);
    let mut bench = Bench { executor: Executor::new(vdp), pool, activity, clock_mhz, word };
    if !args.json {
        println!("SCION border router in simulated hardware, {}; packets back to back", target.name);
        println!(
            "{:<12} {:>7} {:>13} {:>8} {:>15} {:>11} {:>6} {:>16} {:>11}",
            "case",
            "bytes",
            "cycles/packet",
            "dropped",
            "latency, cycles",
            "latency, ns",
            "Mpps",
            "Gbit/s, the wire",
            "simulated/s"
        );
    }
    let cases: Vec<&Case> =
        CASES.iter().filter(|c| args.case.is_empty() || args.case.iter().any(|n| n == c.name)).collect();
    let now_s = (wall_clock_us() / 1_000_000) as u32;
    let mut records = Vec::new();
    let mut add = |bench: &mut Bench, name, frames: &[(Case, Vec<u8>)]| -> Result<(), Failure> {
        let record = bench.measure(name, frames)?;
        if !args.json {
            println!(
                "{:<12} {:>7.1} {:>13.2} {:>8} {:>15} {:>11.0} {:>6.1} {:>16.1} {:>11.0}",
                record.case,
                record.size,
                record.cycles_per_packet,
                record.dropped,
                record.latency_cycles,
                record.latency_ns,
                record.mpps,
                record.gbps_on_wire,
                record.simulated_per_second
            );
        }
        records.push(record);
        Ok(())
    };
    for case in &cases {
        let smallest = smallest(case, now_s);
        for size in std::iter::once(smallest).chain(args.size.iter().copied().filter(|size| *size > smallest)) {
            add(&mut bench, case.name, &[frame(case, size, 0, now_s)?])?;
        }
    }
    // The smallest packets of each case, and those that need one word more for a single byte.
    let mut mix = Vec::new();
    for case in &cases {
        let smallest = smallest(case, now_s);
        let longer = (smallest + 1).next_multiple_of(bench.word) + 1;
        mix.extend([frame(case, smallest, 1, now_s)?, frame(case, longer, 2, now_s)?]);
    }
    add(&mut bench, MIX, &mix)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&records)?);
    }
    Ok(())
}

/// The size of the smallest frame of a case.
fn smallest(case: &Case, now_s: u32) -> usize {
    (60..).find(|size| case.frame(*size, 0, now_s).is_some()).expect("there are frames of each case")
}

fn frame(case: &Case, size: usize, flow: u32, now_s: u32) -> Result<(Case, Vec<u8>), Failure> {
    let none = || Failure::message(format!("there are no packets of case {} with {size} bytes", case.name));
    case.frame(size, flow, now_s).map(|bytes| (*case, bytes)).ok_or_else(none)
}

impl Bench {
    /// Sends packets like these in turn; all must be forwarded where they belong.
    fn measure(&mut self, case: &'static str, frames: &[(Case, Vec<u8>)]) -> Result<Record, Failure> {
        let before = self.send(&frames[..1], 1)?;
        let latency_cycles = before.timing.shortest;
        let after = self.send(frames, PACKETS)?;
        let size = frames.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() as f64 / frames.len() as f64;
        let cycles_per_packet = after.timing.cycles_per_packet(PACKETS);
        let mpps = f64::from(self.clock_mhz) / cycles_per_packet;
        Ok(Record {
            case,
            size,
            packets: PACKETS,
            cycles_per_packet,
            dropped: after.timing.dropped,
            latency_cycles,
            latency_ns: latency_cycles as f64 * 1000.0 / f64::from(self.clock_mhz),
            clock_mhz: self.clock_mhz,
            mpps,
            gbps_on_wire: mpps * 8.0 * (size + WIRE_BYTES as f64) / 1000.0,
            simulated_per_second: PACKETS as f64 / (after.took - before.took).as_secs_f64(),
        })
    }

    fn send(&mut self, frames: &[(Case, Vec<u8>)], count: usize) -> Result<hopwright_offload::Activity, Failure> {
        let mut packets = Vec::with_capacity(count);
        for (case, bytes) in frames.iter().cycle().take(count) {
            let mut packet = self.pool.take_filled(bytes).ok_or_else(|| Failure::message("a frame does not fit"))?;
            packet.set_ingress_port(u32::from(case.ingress_port));
            packets.push(packet);
        }
        self.executor.process_batch(&mut packets, wall_clock_us());
        let arrived = |(packet, (case, _)): (&Packet, &(Case, Vec<u8>))| {
            packet.verdict() == Verdict::Forward && packet.egress_port() == u32::from(case.egress_port)
        };
        let lost = packets.iter().zip(frames.iter().cycle()).filter(|pair| !arrived(*pair)).count();
        packets.into_iter().for_each(|packet| self.pool.give(packet));
        match lost {
            0 => Ok(*self.activity.lock().unwrap_or_else(PoisonError::into_inner)),
            _ => Err(Failure::message(format!("{lost} of {count} packets were not forwarded to where they belong"))),
        }
    }
}
