//! `hopwright bench updates`: the rate of table updates, and their effect on a forwarding worker.
//!
//! Entries go into one exact table of the learning switch, through the data plane's own interface and through P4Runtime over TCP
//! on this machine. Forwarding is measured in alternating windows with and without updates, because a machine's speed drifts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopwright_dataplane::{
    EngineKind, Executor, FrameSize, Packet, Pool, SwitchBuilder, Tenant, VirtualDataPlane, wall_clock_us,
};
use hopwright_ir::{ActionCall, MatchValue, TableEntry, TableId};
use hopwright_p4runtime::client::{Client, ClientOptions};
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Access, Device, EnginePolicy, Options, Program, Server};
use serde::Serialize;
use v1::update::Type;

use super::measure::run;
use super::workload::{WORKLOADS, Workload};
use crate::cli::bench::BenchUpdatesArgs;
use crate::failure::Failure;

/// The length of a window with or without updates.
const WINDOW: Duration = Duration::from_millis(200);
/// Entries in a round of updates in such a window.
const TURN: u64 = 10_000;
/// Entries that forwarding uses.
const HOSTS: usize = 256;
const CPU_PORT: u32 = 510;

/// The results.
#[derive(Debug, Serialize)]
struct Records {
    updates: Vec<Updates>,
    forwarding: Vec<Forwarding>,
}

#[derive(Debug, Serialize)]
struct Updates {
    /// `data plane` or `P4Runtime`.
    through: &'static str,
    what: &'static str,
    entries: u64,
    entries_per_second: f64,
}

/// Forwarding while updates are made.
#[derive(Debug, Serialize)]
struct Forwarding {
    /// The interface of the updates.
    updates_through: &'static str,
    updates_per_second: f64,
    /// Packets per second of the worker's CPU time, without and with updates.
    packets_alone: f64,
    packets_beside: f64,
    loss_percent: f64,
    /// The same per second of wall-clock time: the worker shares its CPU with the rest of the machine.
    wall_alone: f64,
    wall_beside: f64,
}

/// Measures.
pub(crate) fn run_benchmark(args: &BenchUpdatesArgs) -> Result<(), Failure> {
    let Some(workload) = WORKLOADS.iter().find(|w| w.name == "l2") else { return Ok(()) };
    let mut records = Records { updates: Vec::new(), forwarding: Vec::new() };
    let bench = Bench::new(workload)?;

    let mut timed = |through, what, entries: u64, work: &mut dyn FnMut() -> Result<(), Failure>| {
        let started = Instant::now();
        work()?;
        let rate = entries as f64 / started.elapsed().as_secs_f64();
        if !args.json {
            println!("{through:<11} {what:<7} {rate:>11.0} entries/s");
        }
        records.updates.push(Updates { through, what, entries, entries_per_second: rate });
        Ok::<(), Failure>(())
    };
    let all = args.entries;
    let mut entries = bench.entries(0..all, 1);
    timed("data plane", "insert", all, &mut || bench.insert(std::mem::take(&mut entries)))?;
    let mut entries = bench.entries(0..all, 2);
    timed("data plane", "modify", all, &mut || {
        for entry in std::mem::take(&mut entries) {
            bench.vdp.control()[bench.table].modify(entry).map_err(Failure::message)?;
        }
        Ok(())
    })?;
    let entries = bench.entries(0..all, 1);
    timed("data plane", "delete", all, &mut || bench.delete(&entries))?;
    drop(entries);

    let mut controller = Controller::new(&bench)?;
    for (what, kind) in [("insert", Type::Insert), ("modify", Type::Modify), ("delete", Type::Delete)] {
        let mut entities = controller.entities(0..all);
        timed("P4Runtime", what, all, &mut || controller.write(kind, std::mem::take(&mut entities)))?;
    }

    let mut worker = Worker::start(bench.vdp.clone(), workload)?;
    let paced = worker.beside("data plane", args.duration, &mut paced(bench.turn(), args.rate))?;
    let internal = worker.beside("data plane", args.duration, &mut bench.turn())?;
    let mut at = 0;
    let through = worker.beside("P4Runtime", args.duration, &mut || {
        let kind = if at % 2 == 0 { Type::Insert } else { Type::Delete };
        at += 1;
        controller.write(kind, controller.entities(0..TURN))?;
        Ok(TURN)
    })?;
    worker.stop();
    for record in [paced, internal, through] {
        if !args.json {
            println!(
                "forwarding  {:.2} Mpps of CPU time; {:.2} next to {:.0} entries/s through {}: {:.1} % lost (by the wall \
                 clock {:.2} and {:.2})",
                record.packets_alone / 1e6,
                record.packets_beside / 1e6,
                record.updates_per_second,
                record.updates_through,
                record.loss_percent,
                record.wall_alone / 1e6,
                record.wall_beside / 1e6,
            );
        }
        records.forwarding.push(record);
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&records)?);
    }
    Ok(())
}

/// A data plane and the table that updates write.
struct Bench {
    program: Program,
    vdp: Arc<VirtualDataPlane>,
    tenant: Arc<Tenant>,
    table: TableId,
    forward: ActionCall,
}

impl Bench {
    fn new(workload: &Workload) -> Result<Bench, Failure> {
        let compiled = workload.compile();
        let program = Program::from_compiled(&compiled, Default::default()).map_err(|f| Failure::message(f.message))?;
        let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Jit)?;
        let tables = (workload.fill)(HOSTS);
        for entry in tables.entries() {
            let table = vdp.control().table(entry.table).map(|t| t.id()).map_err(Failure::message)?;
            let args: Vec<_> = entry.args.iter().map(|&a| a.into()).collect();
            let action = vdp.control().resolve_action(table, entry.action, &args).map_err(Failure::message)?;
            let matches = entry.matches.iter().map(|m| m.value()).collect();
            vdp.control()[table].insert(TableEntry { matches, priority: 0, action }).map_err(Failure::message)?;
        }
        let table = vdp.control().table("destinations").map(|t| t.id()).map_err(Failure::message)?;
        let forward = vdp.control().resolve_action(table, "forward", &[]).map_err(Failure::message)?;
        let (switch, _) = SwitchBuilder::new(vdp.clone()).cpu_port(CPU_PORT).build()?;
        Ok(Bench { program, vdp, tenant: switch.default_tenant().clone(), table, forward })
    }

    fn entries(&self, numbers: std::ops::Range<u64>, port: u64) -> Vec<TableEntry> {
        let entry = |n| TableEntry {
            matches: vec![MatchValue::Exact(address(n).into())],
            priority: 0,
            action: ActionCall { action: self.forward.action, args: vec![port.into()] },
        };
        numbers.map(entry).collect()
    }

    fn insert(&self, entries: Vec<TableEntry>) -> Result<(), Failure> {
        for entry in entries {
            self.vdp.control()[self.table].insert(entry).map_err(Failure::message)?;
        }
        Ok(())
    }

    fn delete(&self, entries: &[TableEntry]) -> Result<(), Failure> {
        for entry in entries {
            self.vdp.control()[self.table].delete(&entry.matches, 0).map_err(Failure::message)?;
        }
        Ok(())
    }

    /// Endless updates that add as many entries as they delete.
    fn turn(&self) -> impl FnMut() -> Result<u64, Failure> {
        move || {
            let entries = self.entries(0..TURN, 1);
            self.insert(entries.clone())?;
            self.delete(&entries)?;
            Ok(2 * TURN)
        }
    }
}

/// Rounds of updates at a limited rate.
fn paced(mut turn: impl FnMut() -> Result<u64, Failure>, rate: u64) -> impl FnMut() -> Result<u64, Failure> {
    let mut due = Instant::now();
    move || {
        // Windows without updates create no backlog.
        due = due.max(Instant::now());
        let updates = turn()?;
        due += Duration::from_secs_f64(updates as f64 / rate as f64);
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        Ok(updates)
    }
}

/// Addresses that no forwarded packet uses.
fn address(n: u64) -> u64 {
    0x0600_0000_0000 + n
}

/// A controller connected to a server over TCP.
struct Controller {
    _server: Server,
    client: Client,
    table: u32,
    forward: u32,
}

impl Controller {
    fn new(bench: &Bench) -> Result<Controller, Failure> {
        let info = bench.program.config.p4info.clone().unwrap_or_default();
        let device = Device::new(1, bench.tenant.clone(), EnginePolicy::Jit).with_program(bench.program.clone());
        let server = Server::start(
            &Options { address: SocketAddr::from(([127, 0, 0, 1], 0)), tls: None, access: Access::Everybody },
            [device],
        )?;
        let options = ClientOptions { server: server.address().to_string(), device: 1, tls: None, force: false };
        let client = Client::connect(options)?;
        let tables = info.tables.iter().filter_map(|t| t.preamble.as_ref());
        let table = tables.filter(|p| p.alias == "destinations").map(|p| p.id).next();
        let actions = info.actions.iter().filter_map(|a| a.preamble.as_ref());
        let forward = actions.filter(|p| p.alias == "forward").map(|p| p.id).next();
        let (Some(table), Some(forward)) = (table, forward) else {
            return Err(Failure::message("the program has no table `destinations` or action `forward`"));
        };
        Ok(Controller { _server: server, client, table, forward })
    }

    fn entities(&self, numbers: std::ops::Range<u64>) -> Vec<v1::entity::Entity> {
        let entity = |n: u64| {
            let exact = v1::field_match::Exact { value: address(n).to_be_bytes()[2..].to_vec().into() };
            let param = v1::action::Param { param_id: 1, value: vec![1].into() };
            let action = v1::Action { action_id: self.forward, params: vec![param] };
            v1::entity::Entity::TableEntry(v1::TableEntry {
                table_id: self.table,
                r#match: vec![v1::FieldMatch {
                    field_id: 1,
                    field_match_type: Some(v1::field_match::FieldMatchType::Exact(exact)),
                }],
                action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
                ..Default::default()
            })
        };
        numbers.map(entity).collect()
    }

    fn write(&mut self, kind: Type, entities: Vec<v1::entity::Entity>) -> Result<(), Failure> {
        Ok(self.client.write(kind, entities)?)
    }
}

/// A thread that forwards the same packets again and again.
struct Worker {
    state: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    packets: AtomicU64,
    thread_id: AtomicU64,
    stop: AtomicBool,
}

/// A snapshot of the worker's counters.
#[derive(Clone, Copy)]
struct Moment {
    packets: u64,
    cpu_ns: u64,
    at: Instant,
}

/// Totals of the windows of one kind.
#[derive(Default)]
struct Sum {
    packets: u64,
    cpu_ns: u64,
    wall: Duration,
}

impl Sum {
    fn add(&mut self, from: Moment, to: Moment) {
        self.packets += to.packets - from.packets;
        self.cpu_ns += to.cpu_ns.saturating_sub(from.cpu_ns);
        self.wall += to.at - from.at;
    }

    fn per_cpu_second(&self) -> f64 {
        self.packets as f64 * 1e9 / self.cpu_ns.max(1) as f64
    }

    fn per_second(&self) -> f64 {
        self.packets as f64 / self.wall.as_secs_f64()
    }
}

impl Worker {
    fn start(vdp: Arc<VirtualDataPlane>, workload: &Workload) -> Result<Worker, Failure> {
        let mut pool = Pool::new(HOSTS as u32, FrameSize::for_mtu(1500))?;
        let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
        let tables = (workload.fill)(HOSTS);
        for (flow, packet) in packets.iter_mut().enumerate() {
            let frame = tables.frame(flow as u64, 64);
            if !packet.fill(&frame.bytes) {
                return Err(Failure::message("a frame of 64 bytes does not fit"));
            }
            packet.set_ingress_port(frame.port);
        }
        let state = Arc::new(Shared::default());
        let shared = state.clone();
        let thread = std::thread::Builder::new().name("forwarding".into()).spawn(move || {
            let id = std::fs::read_link("/proc/thread-self").ok();
            let id = id.as_ref().and_then(|p| p.file_name()?.to_str()?.parse().ok());
            shared.thread_id.store(id.unwrap_or(0), Ordering::Release);
            let mut executor = Executor::new(vdp);
            let now_us = wall_clock_us();
            while !shared.stop.load(Ordering::Relaxed) {
                run(&mut executor, &mut packets, now_us);
                shared.packets.fetch_add(packets.len() as u64, Ordering::Relaxed);
            }
            packets.into_iter().for_each(|packet| pool.give(packet));
        })?;
        Ok(Worker { state, thread: Some(thread) })
    }

    fn moment(&self) -> Moment {
        let id = self.state.thread_id.load(Ordering::Acquire);
        // The first field is nanoseconds on a CPU.
        let text = std::fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).unwrap_or_default();
        let cpu_ns = text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
        Moment { packets: self.state.packets.load(Ordering::Relaxed), cpu_ns, at: Instant::now() }
    }

    /// Forwards for this many seconds, half of the time beside updates. `turn` makes some updates and returns their number.
    fn beside(
        &mut self,
        updates_through: &'static str,
        seconds: f64,
        turn: &mut dyn FnMut() -> Result<u64, Failure>,
    ) -> Result<Forwarding, Failure> {
        let until = Instant::now() + Duration::from_secs_f64(seconds.max(0.0));
        let (mut alone, mut beside, mut updates) = (Sum::default(), Sum::default(), 0);
        while alone.packets == 0 || beside.packets == 0 || Instant::now() < until {
            let first = self.moment();
            std::thread::sleep(WINDOW);
            let second = self.moment();
            while second.at.elapsed() < WINDOW {
                updates += turn()?;
            }
            let third = self.moment();
            alone.add(first, second);
            beside.add(second, third);
        }
        let (packets_alone, packets_beside) = (alone.per_cpu_second(), beside.per_cpu_second());
        Ok(Forwarding {
            updates_through,
            updates_per_second: updates as f64 / beside.wall.as_secs_f64(),
            packets_alone,
            packets_beside,
            loss_percent: 100.0 * (1.0 - packets_beside / packets_alone),
            wall_alone: alone.per_second(),
            wall_beside: beside.per_second(),
        })
    }

    fn stop(mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
