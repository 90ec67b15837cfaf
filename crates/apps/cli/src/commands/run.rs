//! `hopwright run`: a program as a software switch on network interfaces.

mod capture;
#[cfg(not(feature = "p4runtime"))]
mod no_server;
#[cfg(not(feature = "thrift"))]
mod no_thrift;
mod queues;
#[cfg(feature = "p4runtime")]
mod server;
#[cfg(feature = "thrift")]
mod thrift;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::{
    EgressQueues, EngineKind, Port, Sample, Switch, SwitchBuilder, SwitchStats, Verdict, VirtualDataPlane,
};
use hopwright_driver::{Compiled, compile_text};
use hopwright_ir::Pipeline;
use hopwright_ports::{FrameMatch, Opener, Wanted};
use hopwright_syntax::Options;
#[cfg(feature = "telemetry")]
use hopwright_telemetry::{Interfaces, Numbers};

use crate::cli::RunArgs;
use crate::cli::program::{EngineChoice, RunEngine};
use crate::commands::interfaces::{self, Interface};
use crate::commands::{coverage, stf};
use crate::compile;
use crate::engine::{self, data_plane, one_by_one};
use crate::failure::Failure;
#[cfg(feature = "rtl")]
use crate::hardware;
use hopwright_host::signals;

use capture::Recorder;
#[cfg(not(feature = "p4runtime"))]
use no_server::Server;
#[cfg(not(feature = "thrift"))]
use no_thrift as thrift;
use queues::Queues;
#[cfg(feature = "p4runtime")]
use server::Server;

/// The largest network-layer packet, in bytes.
const JUMBO_MTU: u32 = 9100;
/// How often statistics are written.
const STATS_INTERVAL: Duration = Duration::from_secs(1);
/// How often the packet log checks whether to stop, and which ports there are.
const LOG_TICK: Duration = Duration::from_millis(100);

/// The program of a switch that has none yet: it drops everything.
const NO_PROGRAM: &str = "#include <core.p4>
#include <v1model.p4>
struct none { }
parser P(packet_in p, out none h, inout none m, inout standard_metadata_t s) { state start { transition accept; } }
control C(inout none h, inout none m) { apply { } }
control I(inout none h, inout none m, inout standard_metadata_t s) { apply { mark_to_drop(s); } }
control E(inout none h, inout none m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in none h) { apply { } }
V1Switch(P(), C(), I(), E(), C(), D()) main;";
/// Headroom of packet buffers for programs that are not known yet, in bytes.
const HEADROOM: u32 = 256;

/// How a switch differs from that of `hopwright run`, whose options say the rest.
#[derive(Default)]
pub(crate) struct Variant<'a> {
    /// It has no program until a controller pushes one.
    pub without_program: bool,
    /// It has no CPU port.
    pub without_cpu_port: bool,
    /// It prints no counters at its end.
    pub quiet: bool,
    /// Is called when the switch has its ports. What it returns is dropped at the end.
    pub starting: Option<&'a OnStart<'a>>,
}

/// What is done when a switch has its ports.
pub(crate) type OnStart<'a> = dyn Fn(&Starting<'_>) -> Result<Box<dyn Send>, Failure> + 'a;

/// A switch that is about to run.
#[cfg_attr(not(feature = "bmv2"), allow(dead_code))]
pub(crate) struct Starting<'a> {
    /// The switch.
    pub switch: &'a Arc<Switch>,
    /// What controls it.
    pub server: &'a Server,
}

/// Runs a switch until a signal stops it.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    start(args, &Variant::default())
}

/// Fills tables from a file: lines of a packet test, or commands of `simple_switch_CLI`.
#[cfg(feature = "bench")]
pub(crate) fn load_entries(file: &Path, vdp: &Arc<VirtualDataPlane>) -> Result<(), Failure> {
    load(file, vdp, None)
}

fn load(file: &Path, vdp: &Arc<VirtualDataPlane>, queues: Option<&Queues>) -> Result<(), Failure> {
    match thrift::load_commands(file, vdp, queues)? {
        true => Ok(()),
        false => stf::configure(file, &mut one_by_one(vdp.clone())?),
    }
}

/// Runs a switch until a signal stops it.
pub(crate) fn start(args: &RunArgs, variant: &Variant<'_>) -> Result<(), Failure> {
    let cpu_port = (!variant.without_cpu_port).then_some(u32::from(args.cpu_port));
    interfaces::check(&args.interfaces, cpu_port)?;
    interfaces::check_queues(&args.queues, &args.interfaces)?;
    let compiled = compiled(args, variant.without_program);
    let Some(pipeline) = &compiled.pipeline else { return Err(Failure::Reported) };
    let pipeline = Arc::new(pipeline.clone());
    let vdp = vdp(args, &pipeline)?;
    let queues = Queues::default();
    if let Some(entries) = &args.entries {
        load(entries, &vdp, Some(&queues))?;
    }
    vdp.settle().map_err(Failure::message)?;
    let reached = (!args.coverage.files.is_empty()).then(|| coverage::Live::of(&vdp)).transpose()?;
    let runs = engine_name(&vdp, args);
    let headroom = vdp.headroom().max(if variant.without_program { HEADROOM } else { 0 });
    let mut builder = SwitchBuilder::new(vdp).batch(args.batch.into());
    if let Some(port) = cpu_port {
        builder = builder.cpu_port(port);
    }
    let (opener, pools) = Opener::new(&Wanted {
        choice: args.ports,
        mtu: JUMBO_MTU,
        headroom,
        devices: args.interfaces.len(),
        ..Wanted::default()
    })?;
    builder = builder.pools(pools);
    let recorder = args.pcap.as_deref().map(Recorder::new).transpose()?;
    let mut how = Vec::new();
    for interface in &args.interfaces {
        let (ports, back_end) = open_device(args, interface, &opener, &queues, recorder.as_ref())?;
        how.push((interface.number, back_end));
        builder = builder.ports(interface.number, ports);
    }
    let (switch, mut worker) = builder.build()?;
    if let Some(warning) = switch.default_tenant().headroom_warning() {
        tracing::warn!("{warning}");
    }
    let _reception = interfaces::receive(&switch, &args.interfaces)?;
    log_ports(&switch, &how);
    let program = (!variant.without_program).then_some(&compiled);
    let server = Server::start(args, &switch, program)?;
    #[cfg(feature = "telemetry")]
    let _management = super::telemetry::start(&args.telemetry, &switch, || {
        super::telemetry::interfaces(Interfaces::of_switch(&switch, Numbers::Kernel))
    })?;
    let _thrift = thrift::start(args, &switch, &server, opener, queues)?;
    #[cfg(feature = "page")]
    let _page = {
        let device = server.device_of_page(args, switch.default_tenant(), program)?;
        super::page::start(&args.page, Arc::new(super::page::One { switch: switch.clone(), device, state: None }))?
    };
    let started_with = variant.starting.map(|starting| starting(&Starting { switch: &switch, server: &server }));
    let started_with = started_with.transpose()?;
    match variant.without_program {
        true => tracing::info!("running no program yet; stop with Ctrl-C"),
        false => tracing::info!("running {} with {runs}; stop with Ctrl-C", args.source.file.display()),
    }

    let stopped = switch.clone();
    signals::handle(move || stopped.stop(), None)?;
    let started = Instant::now();
    let controllers = server.counts();
    let statistics = || json(&switch.stats(), controllers(), started);
    if let Some(path) = &args.stats {
        write(path, &statistics())?;
    }
    if args.log_packets {
        log_packets(&switch)?;
    }
    let thread = std::thread::Builder::new().name("worker-0".into()).spawn(move || worker.run())?;
    watch(&switch, !server.takes_packets(), args.stats.as_deref(), &statistics, recorder.as_ref())?;
    thread.join().map_err(|_| Failure::message("the worker died"))?;
    drop(started_with);
    drop(server);
    drop(recorder);
    if let Some(path) = &args.stats {
        write(path, &statistics())?;
    }
    coverage::write(&args.coverage, reached.map(|live| live.reached()).as_ref())?;
    if args.json {
        println!("{}", statistics());
    } else if !variant.quiet {
        print(&switch.stats());
    }
    Ok(())
}

fn compiled(args: &RunArgs, without_program: bool) -> Compiled {
    if without_program {
        return compile_text("none.p4", NO_PROGRAM, &Options::default(), true);
    }
    let compiled = compile::compile(&args.source, args.coverage.files.is_empty());
    compile::print_diagnostics(&compiled);
    compiled
}

/// The program on the engine that the arguments choose.
fn vdp(args: &RunArgs, pipeline: &Arc<Pipeline>) -> Result<Arc<VirtualDataPlane>, Failure> {
    Ok(match args.engine {
        #[cfg(feature = "rtl")]
        _ if args.device.device.is_some() => {
            hardware::on_board(pipeline, args.device.device.as_deref().unwrap_or_default(), &args.device)?
        }
        RunEngine::Auto if args.coverage.files.is_empty() => engine::automatic(pipeline)?,
        RunEngine::Auto | RunEngine::Interp => data_plane(pipeline, EngineChoice::Interp)?,
        #[cfg(feature = "jit")]
        RunEngine::Jit => data_plane(pipeline, EngineChoice::Jit)?,
        #[cfg(feature = "rtl")]
        RunEngine::Rtl => data_plane(pipeline, EngineChoice::Rtl)?,
    })
}

/// What a program runs as.
fn engine_name(vdp: &VirtualDataPlane, args: &RunArgs) -> &'static str {
    match vdp.engine_kind() {
        EngineKind::Jit => "machine code",
        EngineKind::Interp => "the interpreter",
        EngineKind::Offload if args.interfaces.is_empty() => "a board",
        EngineKind::Offload => "simulated hardware",
    }
}

/// Opens a device. Returns its ports, and which back end it has and why.
fn open_device(
    args: &RunArgs,
    Interface { number, name }: &Interface,
    opener: &Opener,
    queues: &Queues,
    recorder: Option<&Recorder>,
) -> Result<(Vec<Box<dyn Port>>, String), Failure> {
    let opened = opener.open(name, &FrameMatch::Everything).map_err(|e| interfaces::cannot_open(&e))?;
    let mut ports = opened.ports;
    if let Some(recorder) = recorder {
        ports = recorder.attach(name, ports)?;
    }
    let own = args.queues.iter().find(|queues| queues.port == *number);
    let settings = own.map_or_else(EgressQueues::without_rate, |queues| queues.settings);
    Ok((queues.attach(*number, &settings, ports), opened.how))
}

fn log_ports(switch: &Switch, how: &[(u32, String)]) {
    for port in switch.ports() {
        let mtu = port.info.mtu.map_or_else(|| "?".into(), |mtu| mtu.to_string());
        let how = how.iter().find(|(number, _)| *number == port.number).map_or("", |(_, how)| how);
        tracing::info!("port {} is {}, MTU {mtu}, {how}", port.number, port.name);
        if port.info.up == Some(false) {
            tracing::warn!("{0} has no link: `ip link set {0} up`, here and at its other end, may help", port.name);
        }
    }
}

/// Starts to log a line for each packet, until the switch stops.
fn log_packets(switch: &Arc<Switch>) -> Result<(), Failure> {
    let (switch, sampling) = (switch.clone(), switch.default_tenant().sample(None)?);
    let tenant = switch.default_tenant().clone();
    let there = move || -> Vec<u32> {
        let ports = tenant.ports().into_iter().map(|port| port.number);
        ports.chain(tenant.cpu_ports().into_iter().flatten()).collect()
    };
    let line = |sample: &Sample, ports: &[u32]| {
        let became = match (sample.verdict(), sample.egress_port()) {
            (_, Some(port)) if !ports.contains(&port) => format!("dropped: there is no port {port}"),
            (_, Some(port)) => format!("to port {port}"),
            (Verdict::NoHeadroom, _) => "lost: it grew beyond the room in its buffer".into(),
            (Verdict::Fault, _) => "lost: the program ran into a fault".into(),
            _ => "dropped".into(),
        };
        tracing::info!("packet of {} bytes at port {}: {became}", sample.bytes().len(), sample.ingress_port());
    };
    let log = move || {
        let (mut ports, mut read, mut lost) = (there(), Instant::now(), 0);
        while !switch.stopping() {
            if read.elapsed() >= LOG_TICK {
                (ports, read) = (there(), Instant::now());
            }
            sampling.next(LOG_TICK, |sample| line(sample, &ports));
            if sampling.lost() > lost {
                tracing::warn!("{} packets are not in the log: too many came", sampling.lost() - lost);
                lost = sampling.lost();
            }
        }
    };
    std::thread::Builder::new().name("log-packets".into()).spawn(log)?;
    Ok(())
}

/// Writes statistics until the switch stops, says what is missing in captures, and drains the CPU queue if nothing else reads it.
fn watch(
    switch: &Arc<Switch>,
    drain: bool,
    stats: Option<&Path>,
    statistics: &dyn Fn() -> serde_json::Value,
    recorder: Option<&Recorder>,
) -> Result<(), Failure> {
    let cpu = switch.default_tenant().cpu();
    let mut next = Instant::now() + STATS_INTERVAL;
    let mut lost = 0;
    while !switch.stopping() {
        while drain && cpu.try_receive().is_some() {}
        std::thread::sleep(Duration::from_millis(100));
        if Instant::now() >= next {
            next += STATS_INTERVAL;
            if let Some(path) = stats {
                write(path, &statistics())?;
            }
            if let Some(error) = recorder.and_then(Recorder::take_error) {
                tracing::error!("--pcap: {error}; nothing more is written to this file");
            }
            let missing = recorder.map_or(0, Recorder::lost);
            if missing > lost {
                tracing::warn!("--pcap: {} packets are not in the captures: too many came", missing - lost);
                lost = missing;
            }
        }
    }
    Ok(())
}

fn write(path: &Path, statistics: &serde_json::Value) -> Result<(), Failure> {
    hopwright_host::files::replace(path, statistics.to_string().as_bytes())
        .map_err(|e| Failure::message(format!("{}: {e}", path.display())))
}

fn json(stats: &SwitchStats, controllers: serde_json::Value, started: Instant) -> serde_json::Value {
    let total = &stats.total;
    let ports: serde_json::Map<_, _> = stats
        .ports
        .iter()
        .map(|p| {
            let counts = serde_json::json!({
                "number": p.number, "rx_packets": p.rx_packets, "rx_bytes": p.rx_bytes,
                "tx_packets": p.tx_packets, "tx_bytes": p.tx_bytes, "tx_lost": p.tx_lost,
                "queue_full": p.device.queue_full, "queue_longest": p.device.queue_longest,
            });
            (p.name.clone(), counts)
        })
        .collect();
    serde_json::json!({
        "uptime_s": started.elapsed().as_secs_f64(),
        "packets": total.packets,
        "packets_punted": total.punted,
        "packets_dropped": {
            "program": total.dropped_by_program, "no_headroom": total.no_headroom, "fault": total.faults,
            "no_such_port": total.no_such_port, "no_frame": total.no_frame, "cpu_queue": total.punt_lost,
        },
        "ns_per_packet": total.ns_per_packet(),
        "ports": ports,
        "p4runtime": controllers,
    })
}

/// Prints what a switch has counted.
pub(crate) fn print(stats: &SwitchStats) {
    println!(
        "{:<6} {:<16} {:>12} {:>14} {:>12} {:>14} {:>8}",
        "port", "interface", "rx packets", "rx bytes", "tx packets", "tx bytes", "tx lost"
    );
    for p in &stats.ports {
        println!(
            "{:<6} {:<16} {:>12} {:>14} {:>12} {:>14} {:>8}",
            p.number, p.name, p.rx_packets, p.rx_bytes, p.tx_packets, p.tx_bytes, p.tx_lost
        );
    }
    let total = &stats.total;
    println!(
        "dropped: {} by the program, {} sent to ports that do not exist, {} faults, {} grown beyond the room in their buffers, \
         {} without a free buffer, {} for the CPU when its queue was full; {} to the CPU",
        total.dropped_by_program,
        total.no_such_port,
        total.faults,
        total.no_headroom,
        total.no_frame,
        total.punt_lost,
        total.punted
    );
    if let Some(ns) = total.ns_per_packet() {
        println!("{ns:.0} ns a packet in the program");
    }
}
