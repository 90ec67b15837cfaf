//! `hopwright openflow`: an OpenFlow switch.

use std::sync::Arc;
use std::time::Duration;

use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_openflow::{Agent, Config, FailMode, Tls, Version};
use hopwright_ports::{FrameMatch, Opener, Wanted};

use crate::cli::openflow::{OpenflowArgs, OpenflowVersion};
use crate::commands::interfaces::{self, Interface};
use crate::commands::run;
use crate::compile;
use crate::failure::Failure;
use crate::signals;

/// The program's port to the controllers.
const CPU_PORT: u16 = 510;
/// The largest port number of the switch.
const MAX_PORT: u32 = 507;
/// The largest network-layer packet, in bytes.
const JUMBO_MTU: u32 = 9100;

/// Runs the switch until a signal stops it.
pub(crate) fn run(args: &OpenflowArgs) -> Result<(), Failure> {
    interfaces::check(&args.interfaces, Some(CPU_PORT.into()))?;
    if let Some(wrong) = args.interfaces.iter().find(|i| !(1..=MAX_PORT).contains(&i.number)) {
        let Interface { number, name } = wrong;
        return Err(Failure::message(format!(
            "{name} cannot be port {number}: ports of the switch are 1 to {MAX_PORT}"
        )));
    }
    let compiled = hopwright_openflow::compile();
    let Some(pipeline) = compiled.pipeline else {
        return Err(Failure::message(format!("the OpenFlow program has errors: {}", compiled.report(false))));
    };
    let pipeline = Arc::new(pipeline);
    let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Jit)
        .map_err(|error| compile::refused(&pipeline, &error))?;
    let (opener, pools) = Opener::new(&Wanted {
        choice: args.ports,
        mtu: JUMBO_MTU,
        headroom: vdp.headroom(),
        devices: args.interfaces.len(),
        ..Wanted::default()
    })?;
    let mut builder = SwitchBuilder::new(vdp).cpu_port(CPU_PORT.into()).cpu_queue(args.cpu_queue.into()).pools(pools);
    for Interface { number, name } in &args.interfaces {
        let opened = opener.open(name, &FrameMatch::Everything).map_err(|e| interfaces::cannot_open(&e))?;
        tracing::info!("port {number} is {name}, {}", opened.how);
        builder = builder.ports(*number, opened.ports);
    }
    let (switch, mut worker) = builder.build()?;
    let _reception = interfaces::receive(&switch, &args.interfaces)?;
    let agent =
        Agent::start(switch.clone(), switch.default_tenant().clone(), config(args)).map_err(Failure::message)?;
    let stopped = switch.clone();
    signals::handle(move || stopped.stop(), None)?;
    let thread = std::thread::Builder::new().name("worker-0".into()).spawn(move || worker.run())?;
    while !switch.stopping() {
        std::thread::sleep(Duration::from_millis(100));
    }
    thread.join().map_err(|_| Failure::message("the worker died"))?;
    let counters = agent.counters();
    agent.stop();
    run::print(&switch.stats());
    println!(
        "{} messages of controllers, {} refused; {} packets to them, {} messages they did not read; {} packets of theirs",
        counters.messages, counters.refused, counters.packet_ins, counters.events_lost, counters.packet_outs
    );
    Ok(())
}

fn config(args: &OpenflowArgs) -> Config {
    let version = |version: &OpenflowVersion| match version {
        OpenflowVersion::V10 => Version::V10,
        OpenflowVersion::V13 => Version::V13,
    };
    let tls = match (&args.tls_cert, &args.tls_key, &args.tls_ca) {
        (Some(certificate), Some(key), Some(ca)) => {
            Some(Tls { certificate: certificate.clone(), private_key: key.clone(), ca: ca.clone() })
        }
        _ => None,
    };
    Config {
        controllers: args.controller.clone(),
        listen: args.listen.clone(),
        versions: args.versions.iter().map(version).collect(),
        datapath_id: args.datapath_id,
        fail_mode: if args.standalone { FailMode::Standalone } else { FailMode::Secure },
        probe_interval: args.probe_interval,
        tls,
        ..Config::default()
    }
}
