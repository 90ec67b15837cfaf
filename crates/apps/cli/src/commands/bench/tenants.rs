//! `hopwright bench tenants`: the cost of several tenants on one switch, in memory on one core, from frame to frame through a
//! worker's rounds.
//!
//! Every tenant runs a router of its own with 1,000 routes, and all frames come by one port. Each figure stands next to that of a
//! switch with one program for the same frames; the switches take turns, so that both see the same machine. One program with as many
//! routes as all tenants together shows what of the difference is the caches' and not the switch's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::{
    EngineKind, FrameSize, Limits, Packet, Pool, Port, Rate, Rule, Sampling, Switch, SwitchBuilder, TenantSpec,
    VirtualDataPlane, Worker,
};
use hopwright_ports::RepeatPort;
use serde::Serialize;

use super::programs::{another, build};
use super::single_step;
use super::workload::{Tables, WORKLOADS, mix};
use crate::cli::bench::BenchTenantsArgs;
use crate::failure::Failure;

/// Routes of each tenant.
const ROUTES: usize = 1000;
/// Frames that repeat.
const FRAMES: u64 = 1024;
/// Frames of each program that its traces are learned from.
const PROFILED: usize = 512;
/// The program's egress ports.
const PORTS: std::ops::RangeInclusive<u32> = 1..=8;
/// Where frames come in.
const INGRESS: u32 = 0;
/// Rounds between two looks at the clock.
const ROUNDS: usize = 16;
/// The rate of samples: one packet in this many.
const SAMPLED: u32 = 1000;
/// How long a switch runs before it is the next one's turn.
const TURN: Duration = Duration::from_millis(4);

/// How frames are given to tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sorting {
    /// A switch with one program.
    Program,
    /// The tenant has the port.
    Port,
    /// By destination address.
    Mac,
    /// The same; half of the frames have no tenant's address.
    Strays,
    /// By destination address, with a policer that lets everything through.
    Policed,
    /// A switch with one program, whose frames to group addresses are counted for network management.
    Counted,
    /// The same, and one packet in 1,000 is sampled.
    Sampled,
}

/// What is compared.
struct Case {
    name: &'static str,
    tenants: usize,
    sorting: Sorting,
    /// Of each program.
    routes: usize,
}

const CASES: &[Case] = &[
    Case { name: "one program", tenants: 1, sorting: Sorting::Program, routes: ROUTES },
    Case { name: "one, 4 x routes", tenants: 1, sorting: Sorting::Program, routes: 4 * ROUTES },
    Case { name: "one, 8 x routes", tenants: 1, sorting: Sorting::Program, routes: 8 * ROUTES },
    Case { name: "one, groups", tenants: 1, sorting: Sorting::Counted, routes: ROUTES },
    Case { name: "one, sampled", tenants: 1, sorting: Sorting::Sampled, routes: ROUTES },
    Case { name: "one tenant", tenants: 1, sorting: Sorting::Port, routes: ROUTES },
    Case { name: "one, by MAC", tenants: 1, sorting: Sorting::Mac, routes: ROUTES },
    Case { name: "two", tenants: 2, sorting: Sorting::Mac, routes: ROUTES },
    Case { name: "four", tenants: 4, sorting: Sorting::Mac, routes: ROUTES },
    Case { name: "four, policed", tenants: 4, sorting: Sorting::Policed, routes: ROUTES },
    Case { name: "four, half stray", tenants: 4, sorting: Sorting::Strays, routes: ROUTES },
    Case { name: "eight", tenants: 8, sorting: Sorting::Mac, routes: ROUTES },
    Case { name: "thirty-two", tenants: 32, sorting: Sorting::Mac, routes: ROUTES },
    Case { name: "sixty-four", tenants: 64, sorting: Sorting::Mac, routes: ROUTES },
    Case { name: "two hundred", tenants: 200, sorting: Sorting::Mac, routes: ROUTES },
];

/// One measurement.
#[derive(Debug, Serialize)]
struct Record {
    case: &'static str,
    tenants: usize,
    size: usize,
    batch: usize,
    packets: u64,
    /// Median of the turns, for each frame received, and the fastest turn.
    ns_per_packet: f64,
    ns_best: f64,
    /// More than one program takes for the same frames, and the ratio.
    ns_more: f64,
    ratio: f64,
    mpps: f64,
    gbps: f64,
    /// Share of the frames that were forwarded.
    forwarded: f64,
    /// Instructions for each frame of a round, without those of the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<f64>,
}

/// Measures.
pub(crate) fn run_benchmark(args: &BenchTenantsArgs) -> Result<(), Failure> {
    let mut records = Vec::new();
    if !args.json {
        println!("Tenants in memory, one core, whole frame to whole frame; each a router with {ROUTES} routes");
        println!(
            "{:<17} {:>7} {:>5} {:>5} {:>10} {:>8} {:>8} {:>6} {:>7} {:>7} {:>9}",
            "case",
            "tenants",
            "bytes",
            "batch",
            "ns/packet",
            "best ns",
            "more ns",
            "ratio",
            "Mpps",
            "Gbit/s",
            "forwarded"
        );
    }
    for &size in &args.size {
        for record in measure(size, args)? {
            if !args.json {
                println!(
                    "{:<17} {:>7} {:>5} {:>5} {:>10.1} {:>8.1} {:>8.1} {:>6.3} {:>7.2} {:>7.2} {:>8.1}%{}",
                    record.case,
                    record.tenants,
                    record.size,
                    record.batch,
                    record.ns_per_packet,
                    record.ns_best,
                    record.ns_more,
                    record.ratio,
                    record.mpps,
                    record.gbps,
                    record.forwarded * 100.0,
                    record.instructions.map_or_else(String::new, |count| format!("  {count:.1} instructions"))
                );
            }
            records.push(record);
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&records)?);
    }
    Ok(())
}

/// A switch, its worker, and times of its turns.
struct Rig {
    case: &'static Case,
    switch: Arc<Switch>,
    worker: Worker,
    programs: Vec<Arc<VirtualDataPlane>>,
    packets: u64,
    /// Nanoseconds per frame, by turn.
    turns: Vec<f64>,
    /// Copies that nobody takes.
    _sampling: Option<Sampling>,
}

fn measure(size: usize, args: &BenchTenantsArgs) -> Result<Vec<Record>, Failure> {
    let wanted = |case: &&Case| args.cases.is_empty() || args.cases.iter().any(|name| name == case.name);
    let rigs = CASES.iter().filter(wanted).map(|case| Rig::new(case, size, args.batch));
    let mut rigs = rigs.collect::<Result<Vec<_>, _>>()?;
    for rig in &mut rigs {
        rig.compile_traces()?;
        rig.turn(TURN);
        rig.turns.clear();
    }
    // Short turns, so that what else the machine does meets all of them.
    let turns = (args.duration / TURN.as_secs_f64()).ceil().max(4.0) as usize;
    for _ in 0..turns {
        rigs.iter_mut().for_each(|rig| rig.turn(TURN));
    }
    let mut records: Vec<Record> = Vec::new();
    for rig in rigs {
        let mut record = rig.record(size, args)?;
        let base = records.first().map_or(record.ns_per_packet, |first| first.ns_per_packet);
        (record.ns_more, record.ratio) = (record.ns_per_packet - base, record.ns_per_packet / base);
        records.push(record);
    }
    Ok(records)
}

impl Rig {
    fn new(case: &'static Case, size: usize, batch: usize) -> Result<Rig, Failure> {
        let workload = WORKLOADS.iter().find(|w| w.name == "l3");
        let workload = workload.ok_or_else(|| Failure::message("no router among the programs"))?;
        let tables = (workload.fill)(case.routes);
        let mut programs = vec![build(workload, None, tables.entries(), EngineKind::Jit)?.vdp];
        for _ in 1..case.tenants {
            programs.push(another(&programs[0], tables.entries())?);
        }
        let mut builder = match case.sorting {
            Sorting::Program | Sorting::Counted | Sorting::Sampled => SwitchBuilder::new(programs[0].clone()),
            _ => SwitchBuilder::without_tenants(),
        };
        let frames = frames(&*tables, case, size);
        let port = |frames| Box::new(RepeatPort::new(frames, u64::MAX)) as Box<dyn Port>;
        builder = builder.pool(2048, FrameSize::for_mtu(1500)).batch(batch).port(INGRESS, port(frames));
        for number in PORTS {
            builder = builder.port(number, Box::new(Sink));
        }
        let (switch, worker) = builder.build().map_err(Failure::message)?;
        let alone = matches!(case.sorting, Sorting::Program | Sorting::Counted | Sorting::Sampled);
        if alone && case.sorting != Sorting::Program {
            switch.count_groups();
        }
        let sampled = (case.sorting == Sorting::Sampled).then(|| switch.default_tenant().sample_one_in(SAMPLED));
        let sampling = sampled.transpose().map_err(Failure::message)?;
        for (number, vdp) in programs.iter().enumerate().filter(|_| !alone) {
            let mut spec = TenantSpec::new(format!("tenant-{number}"), vdp.clone());
            if case.sorting != Sorting::Port {
                spec.rules = vec![Rule { mac: Some(address(number)), ..Rule::default() }];
            }
            if case.sorting == Sorting::Policed {
                let rate = Some(Rate { per_second: 1_000_000_000_000, burst: 1_000_000_000 });
                spec.limits = Limits { packets: rate, bits: rate, ..Limits::default() };
            }
            switch.add_tenant(&spec).map_err(Failure::message)?;
        }
        Ok(Rig { case, switch, worker, programs, packets: 0, turns: Vec::new(), _sampling: sampling })
    }

    /// Compiles traces as a running switch does within seconds.
    fn compile_traces(&mut self) -> Result<(), Failure> {
        self.programs.iter().try_for_each(|vdp| vdp.start_profiling(PROFILED)).map_err(Failure::message)?;
        // Every tenant gets frames, so each ends.
        while self.programs.iter().any(|vdp| vdp.is_profiling()) {
            for _ in 0..ROUNDS {
                self.worker.step();
            }
        }
        for vdp in &self.programs {
            vdp.respecialise().map_err(Failure::message)?;
        }
        Ok(())
    }

    /// Runs rounds for a time.
    fn turn(&mut self, time: Duration) {
        let begun = Instant::now();
        let mut packets = 0;
        while begun.elapsed() < time {
            packets += (0..ROUNDS).map(|_| self.worker.step()).sum::<usize>();
        }
        self.turns.push(begun.elapsed().as_nanos() as f64 / packets as f64);
        self.packets += packets as u64;
    }

    fn record(mut self, size: usize, args: &BenchTenantsArgs) -> Result<Record, Failure> {
        let instructions = match args.single_step {
            true => {
                let round = || {
                    self.worker.step();
                };
                Some(single_step::count(round)? as f64 / args.batch as f64)
            }
            false => None,
        };
        self.turns.sort_by(f64::total_cmp);
        let ns = self.turns[self.turns.len() / 2];
        let stats = self.switch.stats();
        let received: u64 = stats.ports.iter().map(|port| port.rx_packets).sum();
        Ok(Record {
            case: self.case.name,
            tenants: self.case.tenants,
            size,
            batch: args.batch,
            packets: self.packets,
            ns_per_packet: ns,
            ns_best: self.turns[0],
            ns_more: 0.0,
            ratio: 1.0,
            mpps: 1e3 / ns,
            gbps: 8.0 * size as f64 / ns,
            forwarded: stats.total.tx_packets as f64 / received as f64,
            instructions,
        })
    }
}

/// A tenant's address.
fn address(tenant: usize) -> [u8; 6] {
    [2, 0, 0, 0, 1, tenant as u8]
}

/// Frames for all tenants in turn, so that each gets its part of every burst. The routes of a tenant's frames are in no order.
fn frames(tables: &dyn Tables, case: &Case, size: usize) -> Vec<Vec<u8>> {
    let to = |flow: u64| {
        let random = mix(flow ^ 0x7e4a_u64);
        let stray = case.sorting == Sorting::Strays && random >> 32 & 1 == 1;
        let tenant = flow as usize % case.tenants;
        if stray { [2, 0, 0, 0, 2, (random >> 40) as u8] } else { address(tenant) }
    };
    let frame = |flow: u64| {
        let mut bytes = tables.frame(flow, size).bytes;
        if let Some(destination) = bytes.first_chunk_mut() {
            *destination = to(flow);
        }
        bytes
    };
    (0..FRAMES).map(frame).collect()
}

/// A port that receives nothing and swallows what it is to send.
struct Sink;

impl Port for Sink {
    fn name(&self) -> &str {
        "sink"
    }

    fn receive(&mut self, _: &mut Pool, _: &mut Vec<Packet>, _: usize) -> usize {
        0
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let count = packets.len();
        packets.drain(..).for_each(|packet| pool.give(packet));
        count
    }
}
