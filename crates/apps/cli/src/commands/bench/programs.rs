//! `hopwright bench programs`: the cost of common programs in memory on one core, from whole frame to whole frame.
//!
//! Each record is one program with tables of one size. Before it is timed, its packets also run through the interpreter, and the
//! results must be equal. [`super::workload`] makes entries and packets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_abi::Verdict;
use hopwright_dataplane::{
    EngineKind, Executor, ExternTypes, FrameSize, Packet, Pool, VirtualDataPlane, wall_clock_us,
};
use hopwright_ir::{ActionCall, EntryTarget, Group, MatchValue, Pipeline, TableEntry, TableId};
use serde::Serialize;

use super::floor;
use super::measure::{Timing, compile_traces, or_dash, passes};
use super::plot::{self, Bar};
use super::workload::{Entry, Groups, Tables, WORKLOADS, Workload, mix};
use crate::cli::bench::{BenchProgramsArgs, Flows};
use crate::compile;
use crate::failure::Failure;

/// Frames of the working set, which fits the second-level cache.
const FRAMES: u32 = 256;
const FRAME: FrameSize = FrameSize { headroom: 128, data: 1600 };
/// Packets compared with the interpreter.
const CHECKED: u64 = 64;

/// One measurement.
#[derive(Debug, Serialize)]
struct Record {
    program: &'static str,
    /// Entries of the table that varies.
    entries: usize,
    /// `few`: 256 flows that repeat, so that their entries stay in the cache; `all`: each packet hits another entry.
    flows: &'static str,
    size: usize,
    packets: u64,
    ns_per_packet: f64,
    /// Median of the passes, and the fastest.
    ns_median: f64,
    ns_best: f64,
    cycles_per_packet: Option<f64>,
    instructions_per_packet: Option<f64>,
    /// The floor for the same packets, and the ratio of `ns_median` to it.
    floor_ns: f64,
    times_floor: f64,
    /// Text to pipeline, and pipeline to machine code.
    compile_ms: f64,
    machine_code_ms: f64,
    /// Entries added per second while the tables were filled.
    entries_per_second: f64,
}

impl Record {
    fn bar(&self) -> Bar {
        Bar {
            label: format!("{}, {} entries, {}", self.program, self.entries, self.flows),
            ns: self.ns_median,
            floor_ns: self.floor_ns,
        }
    }
}

/// Measures.
pub(crate) fn run_benchmark(args: &BenchProgramsArgs) -> Result<(), Failure> {
    if let Some(unknown) = args.program.iter().find(|name| WORKLOADS.iter().all(|w| w.name != name.as_str())) {
        let names: Vec<_> = WORKLOADS.iter().map(|w| w.name).collect();
        return Err(Failure::message(format!("no program `{unknown}`: there are {}", names.join(", "))));
    }
    let mut records = Vec::new();
    if !args.json {
        println!("Usual programs in memory, one core, whole frame to whole frame");
        println!(
            "{:<13} {:>8} {:>5} {:>5} {:>10} {:>8} {:>8} {:>8} {:>7} {:>6} {:>11} {:>9} {:>9}",
            "program",
            "entries",
            "flows",
            "bytes",
            "ns/packet",
            "best ns",
            "cycles",
            "instr.",
            "floor",
            "ratio",
            "entries/s",
            "front ms",
            "code ms"
        );
    }
    for workload in WORKLOADS.iter().filter(|w| args.program.is_empty() || args.program.iter().any(|n| n == w.name)) {
        for entries in sizes(args, workload) {
            for record in measure(workload, entries, args)? {
                if !args.json {
                    println!(
                        "{:<13} {:>8} {:>5} {:>5} {:>10.1} {:>8.1} {:>8} {:>8} {:>7.1} {:>6.1} {:>11.0} {:>9.1} {:>9.1}",
                        record.program,
                        record.entries,
                        record.flows,
                        record.size,
                        record.ns_median,
                        record.ns_best,
                        or_dash(record.cycles_per_packet),
                        or_dash(record.instructions_per_packet),
                        record.floor_ns,
                        record.times_floor,
                        record.entries_per_second,
                        record.compile_ms,
                        record.machine_code_ms,
                    );
                }
                records.push(record);
            }
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&records)?);
    }
    plot::write(args.plot.as_deref(), "A packet of common programs", records.iter().map(Record::bar))?;
    Ok(())
}

/// The table sizes to measure a program with.
fn sizes(args: &BenchProgramsArgs, workload: &Workload) -> Vec<usize> {
    let wanted: &[usize] = match (args.entries.as_slice(), args.short) {
        ([], false) => &[10, 100, 1000, 10_000, 100_000, 1_000_000],
        ([], true) => &[1000, 1_000_000],
        (given, _) => given,
    };
    wanted.iter().copied().filter(|n| workload.sizes.contains(n)).collect()
}

/// A program with filled tables.
pub(super) struct Filled {
    pub vdp: Arc<VirtualDataPlane>,
    compile_ms: f64,
    machine_code_ms: f64,
    entries_per_second: f64,
}

pub(super) fn build(
    workload: &Workload,
    groups: Option<Groups>,
    entries: Vec<Entry>,
    engine: EngineKind,
) -> Result<Filled, Failure> {
    let started = Instant::now();
    let pipeline = compile::printed(workload.compile())?;
    let compiled = started.elapsed();
    let vdp = VirtualDataPlane::new(pipeline.clone(), engine).map_err(|e| compile::refused(&pipeline, &e))?;
    let generated = started.elapsed() - compiled;
    if let Some(groups) = groups {
        add_groups(&vdp, &groups)?;
    }
    let resolved: Vec<Resolved> = resolve(&vdp, &pipeline, entries)?;
    let count = resolved.len();
    let filling = Instant::now();
    insert(&vdp, resolved)?;
    Ok(Filled {
        vdp,
        compile_ms: compiled.as_secs_f64() * 1e3,
        machine_code_ms: generated.as_secs_f64() * 1e3,
        entries_per_second: count as f64 / filling.elapsed().as_secs_f64(),
    })
}

/// Another data plane of a program, which shares its machine code, with entries of its own.
pub(super) fn another(first: &VirtualDataPlane, entries: Vec<Entry>) -> Result<Arc<VirtualDataPlane>, Failure> {
    let vdp = first.executable().data_plane(&ExternTypes::standard()).map_err(Failure::message)?;
    insert(&vdp, resolve(&vdp, first.pipeline(), entries)?)?;
    Ok(vdp)
}

fn insert(vdp: &VirtualDataPlane, entries: Vec<Resolved>) -> Result<(), Failure> {
    for (table, entry, group) in entries {
        match group {
            None => vdp.control()[table].insert(entry),
            Some(group) => vdp.control()[table].insert_target(entry.matches, entry.priority, EntryTarget::Group(group)),
        }
        .map_err(Failure::message)?;
    }
    Ok(())
}

/// Fills an action selector.
fn add_groups(vdp: &VirtualDataPlane, groups: &Groups) -> Result<(), Failure> {
    let (selector, action) =
        (vdp.pipeline().extern_by_name(groups.selector), vdp.pipeline().action_by_name(groups.action));
    let (Some(selector), Some(action)) = (selector, action) else {
        return Err(Failure::message(format!("no selector `{}` or action `{}`", groups.selector, groups.action)));
    };
    let mut number = 0;
    for (id, members) in (0..).zip(&groups.members) {
        let mut group = Group::default();
        for args in members {
            let args = args.iter().map(|&a| a.into()).collect();
            vdp.control()
                .profile(selector)
                .and_then(|p| p.insert_member(number, ActionCall { action, args }))
                .map_err(Failure::message)?;
            group.members.insert(number, 1);
            number += 1;
        }
        vdp.control().profile(selector).and_then(|p| p.insert_group(id, group)).map_err(Failure::message)?;
    }
    Ok(())
}

/// An entry, and the group that it refers to instead of an action.
type Resolved = (TableId, TableEntry, Option<u32>);

/// Resolves names to ids, each name once.
fn resolve(vdp: &VirtualDataPlane, pipeline: &Pipeline, entries: Vec<Entry>) -> Result<Vec<Resolved>, Failure> {
    let mut known: Vec<((&str, &str), TableId, ActionCall)> = Vec::new();
    let mut resolved = Vec::with_capacity(entries.len());
    for entry in entries {
        let names = (entry.table, entry.action);
        let (table, mut action) = match known.iter().find(|(n, ..)| *n == names) {
            Some((_, table, action)) => (*table, action.clone()),
            None => {
                let table = vdp.control().table(entry.table).map(|t| t.id()).map_err(Failure::message)?;
                let action = vdp.control().resolve_action(table, entry.action, &[]).map_err(Failure::message)?;
                known.push((names, table, action.clone()));
                (table, action)
            }
        };
        action.args = entry.args.iter().map(|&a| a.into()).collect();
        let mut matches: Vec<_> = entry.matches.iter().map(|m| m.value()).collect();
        // Keys that only a selector's hash reads are not part of an entry.
        matches.extend(pipeline[table].keys[matches.len()..].iter().map(MatchValue::any));
        resolved.push((table, TableEntry { matches, priority: entry.priority, action }, entry.group));
    }
    Ok(resolved)
}

fn measure(workload: &Workload, entries: usize, args: &BenchProgramsArgs) -> Result<Vec<Record>, Failure> {
    let tables = (workload.fill)(entries);
    let filled = build(workload, tables.groups(), tables.entries(), EngineKind::Jit)?;
    check(workload, &*tables, &filled.vdp, args.size)?;
    let mut executor = Executor::new(filled.vdp.clone());
    let mut pool = Pool::new(FRAMES, FRAME)?;
    let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
    let mut records = Vec::new();
    for &flows in &args.flows {
        let now_us = wall_clock_us();
        let mut draw = 0u64;
        let mut renew = |packets: &mut [Packet]| -> Result<(), Failure> {
            draw += 1;
            for (i, packet) in packets.iter_mut().enumerate() {
                let i = i as u64;
                let flow = match flows {
                    Flows::Few => i,
                    Flows::All => (mix((draw << 32) | (i / 2)) << 1) | (i % 2),
                };
                fill(packet, &*tables, flow, args.size)?;
            }
            Ok(())
        };
        renew(&mut packets)?;
        compile_traces(&mut executor, &mut packets, now_us, &args.without)?;
        let timing: Timing = passes(&mut executor, &mut packets, now_us, args.duration, args.single_step, &mut renew)?;
        renew(&mut packets)?;
        let floor_ns = floor::measure(&mut packets, 0, Duration::from_secs_f64(args.duration.max(0.0) / 8.0));
        records.push(Record {
            program: workload.name,
            entries,
            flows: match flows {
                Flows::Few => "few",
                Flows::All => "all",
            },
            size: args.size,
            packets: timing.packets,
            ns_per_packet: timing.ns_mean,
            ns_median: timing.ns_median,
            ns_best: timing.ns_best,
            cycles_per_packet: timing.cycles,
            instructions_per_packet: timing.instructions,
            floor_ns,
            times_floor: timing.ns_median / floor_ns,
            compile_ms: filled.compile_ms,
            machine_code_ms: filled.machine_code_ms,
            entries_per_second: filled.entries_per_second,
        });
    }
    Ok(records)
}

fn fill(packet: &mut Packet, tables: &dyn Tables, flow: u64, size: usize) -> Result<(), Failure> {
    let frame = tables.frame(flow, size);
    // A program may have moved it.
    packet.set_bounds(FRAME.headroom, FRAME.headroom);
    if !packet.fill(&frame.bytes) {
        return Err(Failure::message(format!("a frame of {} bytes does not fit", frame.bytes.len())));
    }
    packet.set_ingress_port(frame.port);
    Ok(())
}

/// Runs packets of the first flows through the data plane and through the interpreter, with the entries that these packets
/// may hit, and compares. Most packets must be forwarded for the measurement to mean anything.
fn check(workload: &Workload, tables: &dyn Tables, vdp: &Arc<VirtualDataPlane>, size: usize) -> Result<(), Failure> {
    let keys: Vec<_> = (0..CHECKED).flat_map(|flow| tables.keys(flow)).collect();
    let covers = |entry: &Entry, (table, key): &(&str, Vec<u64>)| {
        entry.table == *table && entry.matches.iter().zip(key).all(|(m, k)| m.covers(*k))
    };
    let mut entries = tables.entries();
    let by_key = |table: &str| keys.iter().any(|(t, _)| *t == table);
    entries.retain(|entry| !by_key(entry.table) || keys.iter().any(|key| covers(entry, key)));
    let model = build(workload, tables.groups(), entries, EngineKind::Interp)?;
    let now_us = 1_000_000;
    let mut outcomes = Vec::new();
    for vdp in [vdp.clone(), model.vdp] {
        let mut executor = Executor::new(vdp);
        let mut pool = Pool::new(CHECKED as u32, FRAME)?;
        let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
        for (flow, packet) in packets.iter_mut().enumerate() {
            fill(packet, tables, flow as u64, size)?;
        }
        executor.process_batch(&mut packets, now_us);
        let outcome = |p: &Packet| match p.verdict() {
            Verdict::Forward => (p.verdict(), p.egress_port(), p.bytes().to_vec()),
            verdict => (verdict, 0, Vec::new()),
        };
        outcomes.push(packets.iter().map(outcome).collect::<Vec<_>>());
    }
    if let Some(flow) = (0..CHECKED as usize).find(|&i| outcomes[0][i] != outcomes[1][i]) {
        return Err(Failure::message(format!(
            "{}: packet {flow} came out as {:02x?}, but the interpreter says {:02x?}",
            workload.name, outcomes[0][flow], outcomes[1][flow]
        )));
    }
    let forwarded = outcomes[0].iter().filter(|(verdict, ..)| *verdict == Verdict::Forward).count();
    if forwarded * 2 < CHECKED as usize {
        return Err(Failure::message(format!(
            "{}: only {forwarded} of {CHECKED} packets are forwarded",
            workload.name
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hopwright_dataplane::trace_ir::eval::{Input, Outcome};
    use hopwright_dataplane::trace_ir::recording::Recording;
    use hopwright_dataplane::trace_ir::verify::verify;

    use super::*;

    /// Traces in the trace IR say what the interpreter does, and nearly all packets that they were learned from complete one.
    #[test]
    fn trace_ir_and_interpreter_agree_on_every_program() {
        for workload in WORKLOADS {
            let failed = |what: String| -> ! { panic!("{}: {what}", workload.name) };
            let tables = (workload.fill)(100);
            let vdps = [EngineKind::Jit, EngineKind::Interp].map(|engine| {
                let filled = build(workload, tables.groups(), tables.entries(), engine);
                filled.unwrap_or_else(|e| failed(format!("{e:?}"))).vdp
            });
            let frames: Vec<_> = (0..CHECKED).map(|flow| tables.frame(flow, 64)).collect();
            let mut pool = Pool::new(CHECKED as u32, FRAME).unwrap();
            let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
            for (flow, packet) in packets.iter_mut().enumerate() {
                fill(packet, &*tables, flow as u64, 64).unwrap();
            }
            vdps[0].start_profiling(packets.len()).unwrap();
            Executor::new(vdps[0].clone()).process_batch(&mut packets, 1_000_000);
            let profile = vdps[0].take_profile().unwrap();
            let Some(code) = vdps[0].compile_traces(&profile, &[]).unwrap() else { continue };
            let ir = vdps[0].trace_ir(&code).unwrap();
            verify(&ir).unwrap_or_else(|e| failed(format!("{e:?}")));
            let mut interpreter = Executor::new(vdps[1].clone());
            let mut completed = 0;
            for frame in &frames {
                let mut recording = Recording::new(vdps[1].pipeline());
                let port = frame.port as u16;
                let output = interpreter.process_observed(&frame.bytes, port, 1_000_000, &mut recording).unwrap();
                let input = Input { packet: &frame.bytes, port, now_us: 1_000_000 };
                let outcome = recording.compare(&ir, input, &output).unwrap_or_else(|e| failed(e.to_string()));
                completed += usize::from(matches!(outcome, Outcome::Completed { .. }));
            }
            assert!(completed >= profile.covered(&code), "{}: {completed} packets", workload.name);
        }
    }

    #[test]
    fn machine_code_and_interpreter_agree_on_every_program() {
        for workload in WORKLOADS {
            let tables = (workload.fill)(100);
            let filled = build(workload, tables.groups(), tables.entries(), EngineKind::Jit);
            let filled = filled.unwrap_or_else(|e| panic!("{}: {e:?}", workload.name));
            check(workload, &*tables, &filled.vdp, 64).unwrap_or_else(|e| panic!("{}: {e:?}", workload.name));
        }
    }
}
