//! `hopwright bench scion`: the border router in memory, on one core or several.
//!
//! The program takes whole frames and leaves whole frames: figures include parsing, every check, MACs, tables, rewriting and
//! checksums, but no device I/O. Each has the floor for the same packets beside it.

use std::sync::Arc;
use std::time::Duration;

use hopwright_abi::Verdict;
use hopwright_dataplane::{
    EngineKind, Executor, FrameSize, Packet, Pool, TracePass, VirtualDataPlane, wait, wall_clock_us,
};
use hopwright_interp::MAX_PASSES;
use hopwright_scion::control::{program, tables};
use hopwright_scion::synthetic::{self, CASES, Case};
use serde::Serialize;

use super::measure::{BATCH, or_dash, passes, run};
use super::plot::{self, Bar};
use super::{floor, hardware};
use crate::cli::bench::{BenchEngine, BenchScionArgs, WorkingSet};
use crate::compile;
use crate::failure::Failure;

/// Frames of a working set that fits the second-level cache: their headers, headroom lines and descriptors take far less
/// than half a mebibyte.
const L2_FRAMES: u32 = 256;
/// Frames of a working set that exceeds the last-level cache: 64 MiB and more.
const MEMORY_FRAMES: u32 = 32_768;
/// Frames from this size on have room for 64 hop fields.
const LONG_PATH_BYTES: usize = 1000;
/// The most passes that a packet can take here.
const MOST_PASSES: u32 = 64;
/// Distinct flows among them.
const FLOWS: usize = 256;

/// One measurement.
#[derive(Debug, Serialize)]
struct Record {
    layout: &'static str,
    case: &'static str,
    size: usize,
    hops: u32,
    macs: u32,
    /// Passes of ingress and egress; 1 without pipes. `None` if they were not found out.
    passes: Option<u32>,
    working_set: &'static str,
    /// Workers that run at the same time, each on a CPU of its own with packets of its own. Figures are means per worker,
    /// except millions of packets per second, which are a sum.
    workers: usize,
    mpps: f64,
    frames: u32,
    packets: u64,
    ns_per_packet: f64,
    /// Median of the passes, and the fastest.
    ns_median: f64,
    ns_best: f64,
    cycles_per_packet: Option<f64>,
    instructions_per_packet: Option<f64>,
    /// The floor for the same packets, median of the passes, and the ratio of `ns_median` to it.
    floor_ns: f64,
    times_floor: f64,
}

impl Record {
    fn bar(&self) -> Bar {
        Bar {
            label: format!(
                "{} {}, {} bytes, {} hops, {}",
                self.layout, self.case, self.size, self.hops, self.working_set
            ),
            ns: self.ns_median,
            floor_ns: self.floor_ns,
        }
    }

    fn print(&self) {
        println!(
            "{:<8} {:>7} {:<12} {:>5} {:>5} {:>5} {:>6} {:>8} {:>10.1} {:>8.1} {:>8} {:>8} {:>6.1} {:>7.1} {:>6.1}",
            self.layout,
            self.workers,
            self.case,
            self.size,
            self.hops,
            self.macs,
            or_dash(self.passes.map(f64::from)),
            self.working_set,
            self.ns_median,
            self.ns_best,
            or_dash(self.cycles_per_packet),
            or_dash(self.instructions_per_packet),
            self.mpps,
            self.floor_ns,
            self.times_floor
        );
    }
}

fn print_heading() {
    println!("SCION border router in memory, whole frame to whole frame, batches of {BATCH}");
    println!(
        "{:<8} {:>7} {:<12} {:>5} {:>5} {:>5} {:>6} {:>8} {:>10} {:>8} {:>8} {:>8} {:>6} {:>7} {:>6}",
        "layout",
        "workers",
        "case",
        "bytes",
        "hops",
        "MACs",
        "passes",
        "set",
        "ns/packet",
        "best ns",
        "cycles",
        "instr.",
        "Mpps",
        "floor",
        "ratio"
    );
}

/// The cases with their sizes and numbers of entries.
fn runs(args: &BenchScionArgs) -> Vec<(Case, usize, WorkingSet)> {
    let mut runs = Vec::new();
    for case in CASES.iter().filter(|c| args.case.is_empty() || args.case.iter().any(|n| n == c.name)) {
        let all = if args.hops.is_empty() { vec![case.hops] } else { args.hops.clone() };
        for &working_set in &args.working_set {
            for &size in &args.size {
                runs.extend(all.iter().map(|&hops| (Case { hops, ..*case }, size, working_set)));
            }
            // The cost of a long path.
            let longest = args.size.iter().copied().max().filter(|&size| size >= LONG_PATH_BYTES);
            if let Some(size) = longest.filter(|_| args.hops.is_empty() && case.name == "br_transit") {
                runs.push((Case { hops: 64, ..*case }, size, working_set));
            }
        }
    }
    runs
}

/// Measures the border router.
pub(crate) fn run_benchmark(args: &BenchScionArgs) -> Result<(), Failure> {
    if let Some(unknown) = args.case.iter().find(|name| CASES.iter().all(|c| c.name != name.as_str())) {
        let names: Vec<_> = CASES.iter().map(|c| c.name).collect();
        return Err(Failure::message(format!("no case `{unknown}`: there are {}", names.join(", "))));
    }
    if args.engine == BenchEngine::Rtl {
        if args.plot.is_some() {
            return Err(Failure::message("--plot draws figures of --engine jit"));
        }
        return hardware::run(args);
    }
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if let Some(too_many) = args.workers.iter().find(|count| **count == 0 || **count > cpus) {
        return Err(Failure::message(format!("{too_many} workers on {cpus} CPUs")));
    }
    let mut records = Vec::new();
    if !args.json {
        print_heading();
    }
    let mut runs = runs(args);
    let layouts = args.layout.iter().map(|layout| (layout.name(), layout.compile(true), false));
    let hummingbird = [("hbird", false), ("flyover", true)].into_iter().filter(|_| args.hummingbird);
    let hummingbird = hummingbird
        .map(|(name, reserved)| (name, program::compile_part(&[program::HUMMINGBIRD.to_string()]), reserved));
    for (layout, compiled, reserved) in layouts.chain(hummingbird) {
        let pipeline = compile::printed(compiled)?;
        let vdp =
            VirtualDataPlane::new(pipeline.clone(), EngineKind::Jit).map_err(|e| compile::refused(&pipeline, &e))?;
        synthetic::program(&vdp, &synthetic::brload_links(), &synthetic::brload_hosts())?;
        if tables::has_hummingbird(&vdp) {
            tables::set_secret_value(&vdp, &synthetic::secret_value())?;
        }
        runs.iter_mut().for_each(|(case, ..)| case.reserved = reserved);
        compile_traces(&mut Executor::new(Arc::clone(&vdp)), &runs, &args.without)?;
        let all = runs.iter().flat_map(|run| args.workers.iter().map(move |w| (run, *w)));
        for ((case, size, working_set), workers) in all {
            let record = several(&vdp, workers, case, *size, *working_set, (args.duration, args.single_step))?;
            let record = Record { layout, ..record };
            if !args.json {
                record.print();
            }
            records.push(record);
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&records)?);
    }
    plot::write(args.plot.as_deref(), "A packet of the SCION border router", records.iter().map(Record::bar))?;
    Ok(())
}

/// Measures several workers at the same time.
fn several(
    vdp: &Arc<VirtualDataPlane>,
    workers: usize,
    case: &Case,
    size: usize,
    working_set: WorkingSet,
    (duration, single_step): (f64, bool),
) -> Result<Record, Failure> {
    if workers == 1 {
        return measure(&mut Executor::new(vdp.clone()), case, size, working_set, duration, single_step);
    }
    let records: Vec<Record> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|cpu| {
                scope.spawn(move || {
                    wait::pin_to(cpu)?;
                    measure(&mut Executor::new(vdp.clone()), case, size, working_set, duration, false)
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(Failure::message("a worker died")))
        };
        threads.into_iter().map(join).collect::<Result<_, Failure>>()
    })?;
    let mean = |of: fn(&Record) -> f64| records.iter().map(of).sum::<f64>() / workers as f64;
    let maybe =
        |of: fn(&Record) -> Option<f64>| records.iter().map(of).sum::<Option<f64>>().map(|sum| sum / workers as f64);
    let (ns_median, floor_ns) = (mean(|r| r.ns_median), mean(|r| r.floor_ns));
    Ok(Record {
        workers,
        mpps: records.iter().map(|r| r.mpps).sum(),
        packets: records.iter().map(|r| r.packets).sum(),
        ns_per_packet: mean(|r| r.ns_per_packet),
        ns_median,
        ns_best: mean(|r| r.ns_best),
        cycles_per_packet: maybe(|r| r.cycles_per_packet),
        instructions_per_packet: maybe(|r| r.instructions_per_packet),
        floor_ns,
        times_floor: ns_median / floor_ns,
        ..records[0]
    })
}

/// Makes frames of as many flows.
fn templates(case: &Case, size: usize, flows: usize, now_us: u64) -> Result<Vec<Vec<u8>>, Failure> {
    let now_s = (now_us / 1_000_000) as u32;
    (0..flows as u32).map(|flow| case.frame(size, flow, now_s)).collect::<Option<_>>().ok_or_else(|| {
        let what = format!("{size} bytes and {} hop fields", case.hops);
        Failure::message(format!("there are no packets of case {} with {what}", case.name))
    })
}

/// Compiles traces for the paths of these packets, as a running router does within seconds; here for the packets of all runs
/// together.
fn compile_traces(
    executor: &mut Executor,
    runs: &[(Case, usize, WorkingSet)],
    without: &[TracePass],
) -> Result<(), Failure> {
    let now_us = wall_clock_us();
    let vdp = Arc::clone(executor.vdp());
    vdp.start_profiling(runs.len() * BATCH).map_err(Failure::message)?;
    let mut pool = Pool::new(BATCH as u32, FrameSize::for_mtu(1500))?;
    let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
    for (case, size, _) in runs {
        for (packet, frame) in packets.iter_mut().zip(templates(case, *size, BATCH, now_us)?) {
            packet.fill(&frame);
            packet.set_ingress_port(u32::from(case.ingress_port));
        }
        run(executor, &mut packets, now_us);
    }
    vdp.respecialise_without(without).map_err(Failure::message)?;
    Ok(())
}

fn measure(
    executor: &mut Executor,
    case: &Case,
    size: usize,
    working_set: WorkingSet,
    duration: f64,
    single_step: bool,
) -> Result<Record, Failure> {
    let (name, frames) = match working_set {
        WorkingSet::L2 => ("L2", L2_FRAMES),
        WorkingSet::Memory => ("memory", MEMORY_FRAMES),
    };
    let now_us = wall_clock_us();
    let templates = templates(case, size, FLOWS, now_us)?;
    let mut pool = Pool::new(frames, FrameSize::for_mtu(1500))?;
    let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
    let renew = |packets: &mut [Packet]| -> Result<(), Failure> {
        for (i, packet) in packets.iter_mut().enumerate() {
            if !packet.fill(&templates[i % FLOWS]) {
                return Err(Failure::message(format!("a frame of {size} bytes does not fit")));
            }
            packet.set_ingress_port(u32::from(case.ingress_port));
        }
        Ok(())
    };

    // One pass whose results are checked.
    renew(&mut packets)?;
    run(executor, &mut packets, now_us);
    let wrong =
        packets.iter().find(|p| p.verdict() != Verdict::Forward || p.egress_port() != u32::from(case.egress_port));
    if let Some(wrong) = wrong {
        return Err(Failure::message(format!(
            "case {}: a packet got {:?} to port {} instead of being forwarded to port {}",
            case.name,
            wrong.verdict(),
            wrong.egress_port(),
            case.egress_port
        )));
    }

    let timing = passes(executor, &mut packets, now_us, duration, single_step, renew)?;
    // The fewest passes with which a packet gets through. One that was given up has not all its headroom: each is a new one.
    let mut fewest = None;
    for most in 1..=MOST_PASSES {
        let Some(packet) = packets.pop().and_then(|used| {
            pool.give(used);
            pool.take()
        }) else {
            break;
        };
        packets.push(packet);
        let one = packets.len() - 1..;
        executor.set_max_passes(most);
        renew(&mut packets[one.clone()])?;
        run(executor, &mut packets[one.clone()], now_us);
        if packets[one][0].verdict() == Verdict::Forward {
            fewest = Some(most);
            break;
        }
    }
    executor.set_max_passes(MAX_PASSES);
    renew(&mut packets)?;
    let floor_ns = floor::measure(&mut packets, case.macs, Duration::from_secs_f64(duration.max(0.0) / 4.0));
    for packet in packets {
        pool.give(packet);
    }
    Ok(Record {
        layout: "",
        case: case.name,
        size,
        hops: case.hops,
        macs: case.macs,
        passes: fewest,
        working_set: name,
        workers: 1,
        mpps: 1000.0 / timing.ns_median,
        frames,
        packets: timing.packets,
        ns_per_packet: timing.ns_mean,
        ns_median: timing.ns_median,
        ns_best: timing.ns_best,
        cycles_per_packet: timing.cycles,
        instructions_per_packet: timing.instructions,
        floor_ns,
        times_floor: timing.ns_median / floor_ns,
    })
}
