//! `hopwright openflow`: an OpenFlow switch.

use hopwright_agent::alone;
use hopwright_openflow::{Config, FailMode, KIND, Tls, Version};

use crate::cli::openflow::{OpenflowArgs, OpenflowVersion};
use crate::commands::interfaces::{self, Interface};
use crate::commands::{hand_over, run};
use crate::failure::Failure;

/// The program's port to the controllers.
const CPU_PORT: u32 = 510;
/// The largest port number of the switch.
const MAX_PORT: u32 = 507;

/// Runs the switch until a signal stops it.
pub(crate) fn run(args: &OpenflowArgs) -> Result<(), Failure> {
    if args.hand_over.background {
        return hand_over::start_in_background();
    }
    interfaces::check(&args.interfaces, Some(CPU_PORT))?;
    interfaces::check_queues(&args.queue, &args.interfaces)?;
    if let Some(wrong) = args.interfaces.iter().find(|i| !(1..=MAX_PORT).contains(&i.number)) {
        let Interface { number, name } = wrong;
        return Err(Failure::message(format!(
            "{name} cannot be port {number}: ports of the switch are 1 to {MAX_PORT}"
        )));
    }
    let options = alone::Options {
        ports: args.ports,
        cpu_queue: args.cpu_queue.into(),
        metrics: args.metrics.clone(),
        hand_over: hand_over::options(&args.hand_over),
        queues: args.queue.iter().map(|queues| (queues.port, queues.settings)).collect(),
        ..alone::Options::new(interfaces::by_number(&args.interfaces), CPU_PORT)
    };
    let counts = alone::run(KIND, &config(args), &options, &|_| Ok(Box::new(()))).map_err(interfaces::not_run)?;
    // The standard output of a process that has taken over may be gone.
    if args.hand_over.take_over {
        return Ok(());
    }
    run::print(&counts.switch);
    counts.agent.iter().for_each(|metric| println!("{} {}", metric.name, metric.value));
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
        queued_ports: args.queue.iter().map(|queues| queues.port).collect(),
        ..Config::default()
    }
}
