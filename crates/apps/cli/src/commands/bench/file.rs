//! `hopwright bench file`: the cost of any program's packets, in memory on one core, with the tables of a file.
//!
//! Packets run through the interpreter first, and both engines must send the same. Copies that the program makes are not sent
//! while it is timed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::{Executor, FrameSize, Packet, Pool, VirtualDataPlane, wall_clock_us};
use hopwright_ir::Pipeline;
use hopwright_stf::Engine as _;
use serde::Serialize;

use super::measure::{BATCH, Timing, compile_traces, or_dash, passes, run};
use super::single_step;
use crate::cli::bench::BenchFileArgs;
use crate::cli::program::EngineChoice;
use crate::commands::run::load_entries;
use crate::commands::trace_ir::{self, Received};
use crate::compile;
use crate::engine::{data_plane, one_by_one};
use crate::failure::Failure;

/// Frames of the working set, which fits the second-level cache.
const FRAMES: u32 = 256;
/// Packets that traces are learned from: more than a switch profiles at once.
const PROFILED_PASSES: usize = 4;
/// Packets compared with the interpreter.
const CHECKED: usize = 1024;
/// Lines of P4 that are printed.
const LINES: usize = 30;

/// The measurement.
#[derive(Debug, Serialize)]
struct Record {
    program: String,
    packets: u64,
    /// Median of the passes, and the fastest.
    ns_median: f64,
    ns_best: f64,
    packets_per_second: f64,
    cycles_per_packet: Option<f64>,
    instructions_per_packet: Option<f64>,
    /// Paths that have a trace, and the share of packets that left their trace while they were measured.
    traces: u64,
    side_exits: f64,
    /// Why packets leave traces, with their number.
    side_exits_by_reason: Vec<(String, u64)>,
    /// Instructions of a packet by line of P4, most first.
    instructions_by_line: Vec<(String, f64)>,
}

/// Measures.
pub(super) fn run_benchmark(args: &BenchFileArgs) -> Result<(), Failure> {
    let pipeline = compile::pipeline(&args.source)?;
    let received = trace_ir::read(&args.packets, args.port)?;
    check(&pipeline, &received, args.entries.as_deref())?;
    let vdp = filled(&pipeline, EngineChoice::Jit, args.entries.as_deref())?;
    let mut executor = Executor::new(vdp.clone());
    let frames = FrameSize::JUMBO.with_headroom(vdp.headroom());
    let mut pool = Pool::new(FRAMES, frames)?;
    let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
    let mut next = received.iter().cycle();
    let mut renew = |packets: &mut [Packet]| -> Result<(), Failure> {
        for (packet, Received { port, bytes, .. }) in packets.iter_mut().zip(&mut next) {
            packet.set_bounds(frames.headroom, frames.headroom);
            if !packet.fill(bytes) {
                return Err(Failure::message(format!("a packet of {} bytes does not fit a frame", bytes.len())));
            }
            packet.set_ingress_port(u32::from(*port));
        }
        Ok(())
    };
    let now_us = wall_clock_us();
    let mut learning: Vec<Packet> = Vec::new();
    let mut profiled = Pool::new(FRAMES * PROFILED_PASSES as u32, frames)?;
    learning.extend(std::iter::from_fn(|| profiled.take()));
    renew(&mut learning)?;
    compile_traces(&mut executor, &mut learning, now_us, &args.without)?;
    let before = vdp.traces().counts();
    let timing = passes(&mut executor, &mut packets, now_us, args.duration, args.single_step, &mut renew)?;
    let after = vdp.traces().counts();
    let side_exits_by_reason = vdp.traces().exits_by_site();
    let instructions_by_line = match args.lines {
        true => {
            renew(&mut packets)?;
            by_line(&pipeline, &mut executor, &mut packets[..BATCH], now_us)?
        }
        false => Vec::new(),
    };
    print(args, &record(&pipeline, &vdp, timing, [before, after], side_exits_by_reason, instructions_by_line))
}

/// A data plane with the entries of a file.
fn filled(
    pipeline: &Arc<Pipeline>,
    engine: EngineChoice,
    entries: Option<&Path>,
) -> Result<Arc<VirtualDataPlane>, Failure> {
    let vdp = data_plane(pipeline, engine)?;
    if let Some(entries) = entries {
        load_entries(entries, &vdp)?;
    }
    vdp.settle().map_err(Failure::message)?;
    Ok(vdp)
}

/// Compares what the engines make of the first packets.
fn check(pipeline: &Arc<Pipeline>, received: &[Received], entries: Option<&Path>) -> Result<(), Failure> {
    let mut jit = one_by_one(filled(pipeline, EngineChoice::Jit, entries)?)?;
    let mut interp = one_by_one(filled(pipeline, EngineChoice::Interp, entries)?)?;
    for (i, Received { port, bytes, .. }) in received.iter().take(CHECKED).enumerate() {
        let now_us = 1_000_000 + i as u64;
        let [found, expected] = [&mut jit, &mut interp].map(|engine| engine.process(*port, bytes, now_us));
        let (found, expected) = (found.map_err(Failure::message)?, expected.map_err(Failure::message)?);
        if (&found.sent, found.fault.is_some()) != (&expected.sent, expected.fault.is_some()) {
            return Err(Failure::message(format!(
                "packet {} came out as {:02x?}, but the interpreter says {:02x?}",
                i + 1,
                found.sent,
                expected.sent
            )));
        }
    }
    Ok(())
}

/// Counts instructions of a batch by line of P4. What is called counts for the line that calls.
fn by_line(
    pipeline: &Pipeline,
    executor: &mut Executor,
    batch: &mut [Packet],
    now_us: u64,
) -> Result<Vec<(String, f64)>, Failure> {
    let code = executor.vdp().code_map();
    let (mut counts, mut within, packets) = (BTreeMap::<String, u64>::new(), None, batch.len() as f64);
    let mut texts = BTreeMap::new();
    for address in single_step::addresses(|| run(executor, batch, now_us))? {
        if let Some(span) = *texts.entry(address).or_insert_with(|| code.find(address).and_then(|place| place.span)) {
            within = Some(span);
        }
        let Some(span) = within else { continue };
        *counts.entry(pipeline.sources.quote(span).unwrap_or_default()).or_default() += 1;
    }
    let mut lines: Vec<(String, f64)> = counts.into_iter().map(|(line, n)| (line, n as f64 / packets)).collect();
    lines.sort_by(|a, b| b.1.total_cmp(&a.1));
    lines.truncate(LINES);
    Ok(lines)
}

fn record(
    pipeline: &Pipeline,
    vdp: &VirtualDataPlane,
    timing: Timing,
    [before, after]: [(u64, u64); 2],
    side_exits_by_reason: Vec<(String, u64)>,
    instructions_by_line: Vec<(String, f64)>,
) -> Record {
    Record {
        program: pipeline.name.clone(),
        packets: timing.packets,
        ns_median: timing.ns_median,
        ns_best: timing.ns_best,
        packets_per_second: 1e9 / timing.ns_median,
        cycles_per_packet: timing.cycles,
        instructions_per_packet: timing.instructions,
        traces: vdp.traces().paths(),
        side_exits: (after.1 - before.1) as f64 / (after.0 - before.0).max(1) as f64,
        side_exits_by_reason,
        instructions_by_line,
    }
}

fn print(args: &BenchFileArgs, record: &Record) -> Result<(), Failure> {
    if args.json {
        println!("{}", serde_json::to_string_pretty(record)?);
        return Ok(());
    }
    println!(
        "{}: {:.1} ns a packet (best {:.1}), {:.0} packets a second, cycles {}, instructions {}",
        record.program,
        record.ns_median,
        record.ns_best,
        record.packets_per_second,
        or_dash(record.cycles_per_packet),
        or_dash(record.instructions_per_packet),
    );
    println!("{} traces, {:.1} % of packets leave theirs", record.traces, 100.0 * record.side_exits);
    for (reason, packets) in &record.side_exits_by_reason {
        println!("{packets:>10} left: {reason}");
    }
    if args.lines {
        println!("instructions a packet by line:");
        record.instructions_by_line.iter().for_each(|(line, n)| println!("{n:>10.1}  {line}"));
    }
    Ok(())
}
