//! `hopwright ip`: an IP router with a network namespace as its control plane.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use hopwright_dataplane::{Switch, SwitchBuilder};
use hopwright_ip::program::{self, CPU_PORT, URGENT_CPU_PORT};
use hopwright_ip::{Agent, Config, Counts, show};
use hopwright_ports::{FrameMatch, Opener, Wanted};
use serde_json::json;

use crate::cli::ip::{IpArgs, IpCommand, IpShowArgs};
use crate::commands::interfaces::{self, Interface};
use crate::failure::Failure;
use crate::signals;

/// The largest network-layer packet, in bytes.
const JUMBO_MTU: u32 = 9100;
/// How often counters are written.
const STATS_INTERVAL: Duration = Duration::from_secs(1);
/// How long it takes at most to notice that it is to stop.
const TICK: Duration = Duration::from_millis(100);

/// Runs a router until a signal stops it, or shows what a running one does.
pub(crate) fn run(args: &IpArgs) -> Result<(), Failure> {
    if let Some(IpCommand::Show(args)) = &args.command {
        return show(args);
    }
    let namespace = args.namespace.clone().ok_or_else(|| Failure::message("--namespace NAME is missing"))?;
    interfaces::check(&args.interfaces, Some(CPU_PORT))?;
    let vdp = program::data_plane()?;
    let (opener, pools) = Opener::new(&Wanted {
        choice: args.ports,
        mtu: JUMBO_MTU,
        headroom: vdp.headroom(),
        devices: args.interfaces.len(),
        workers: args.workers.into(),
        ..Wanted::default()
    })?;
    let mut builder = SwitchBuilder::new(vdp).cpu_port(CPU_PORT).urgent_cpu_port(URGENT_CPU_PORT).pools(pools);
    let mut devices = BTreeMap::new();
    for Interface { number, name } in &args.interfaces {
        let opened = opener.open(name, &FrameMatch::Everything).map_err(|e| interfaces::cannot_open(&e))?;
        tracing::info!("port {number} is {name}, {}", opened.how);
        builder = builder.ports(*number, opened.ports);
        devices.insert(*number, name.clone());
    }
    let (switch, workers) = builder.build_workers()?;
    let _reception = interfaces::receive(&switch, &args.interfaces)?;
    let config = Config { namespace: namespace.clone(), names: BTreeMap::new() };
    let agent = Agent::start(switch.default_tenant(), &devices, &config)?;
    let stopped = switch.clone();
    signals::handle(move || stopped.stop(), None)?;
    let mut threads = Vec::new();
    for (number, mut worker) in workers.into_iter().enumerate() {
        let thread = std::thread::Builder::new().name(format!("worker-{number}"));
        threads.push(thread.spawn(move || worker.run())?);
    }
    tracing::info!("routing; namespace {} is the control plane; stop with Ctrl-C", namespace);

    let started = Instant::now();
    let mut next = started;
    while !switch.stopping() && !agent.failed() {
        if let Some(path) = args.stats.as_deref().filter(|_| Instant::now() >= next) {
            write(path, &switch, agent.counts(), started)?;
            next += STATS_INTERVAL;
        }
        std::thread::sleep(TICK);
    }
    let failed = agent.failed();
    let counts = agent.counts();
    agent.stop();
    switch.stop();
    for thread in threads {
        thread.join().map_err(|_| Failure::message("a worker died"))?;
    }
    if let Some(path) = &args.stats {
        write(path, &switch, counts, started)?;
    }
    if failed {
        return Err(Failure::message("the router has lost its control plane"));
    }
    Ok(())
}

fn show(args: &IpShowArgs) -> Result<(), Failure> {
    let cannot = |error| {
        let socket = show::path(&args.namespace);
        let hint = "is there a router with this control plane? `ip netns` lists namespaces";
        Failure::message(format!("{}: {error}: {hint}", socket.display()))
    };
    let state = show::ask(&args.namespace, args.routes).map_err(cannot)?;
    let text = match args.json {
        true => format!("{}\n", serde_json::to_string(&state)?),
        false => show::text(&state, args.routes),
    };
    print!("{text}");
    Ok(())
}

/// Writes the counters, in a way that readers see the file before or after.
fn write(path: &Path, switch: &Switch, counts: Counts, started: Instant) -> Result<(), Failure> {
    let stats = switch.stats();
    let vdp = switch.default_tenant().vdp();
    let cells = vdp.control().counter("reasons")?;
    let mut reasons = serde_json::Map::new();
    for (number, name) in program::reasons() {
        reasons.insert(name.to_lowercase(), cells.read(number.into())?.packets.into());
    }
    let ports: serde_json::Map<_, _> = stats
        .ports
        .iter()
        .map(|p| {
            let counts = json!({
                "number": p.number, "rx_packets": p.rx_packets, "rx_bytes": p.rx_bytes,
                "tx_packets": p.tx_packets, "tx_bytes": p.tx_bytes, "tx_lost": p.tx_lost,
            });
            (p.name.clone(), counts)
        })
        .collect();
    let page = json!({
        "uptime_s": started.elapsed().as_secs_f64(),
        "packets": stats.total.packets,
        "reasons": reasons,
        "cpu_queue_lost": stats.total.punt_lost,
        "ns_per_packet": stats.total.ns_per_packet(),
        "to_kernel": { "packets": counts.to_kernel, "lost": counts.to_kernel_lost },
        "from_kernel": { "packets": counts.from_kernel, "lost": counts.from_kernel_lost },
        "routes": counts.routes,
        "next_hops": counts.next_hops,
        "groups": counts.groups,
        "route_changes": counts.changes,
        "routes_refused": counts.refused,
        "route_reloads": counts.reloads,
        "notifications_lost": counts.overruns,
        "undecoded": counts.undecoded,
        "neighbour_probes": counts.probes,
        "left_to_kernel": counts.punted,
        "ports": ports,
    });
    crate::output::replace(path, &page.to_string()).map_err(|e| Failure::message(format!("{}: {e}", path.display())))
}
