//! `hopwright ip`: an IP router with a network namespace as its control plane.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopwright_agent::{StartError, alone};
use hopwright_dataplane::Switch;
use hopwright_ip::program::CPU_PORT;
use hopwright_ip::{Config, KIND, show};

use crate::cli::ip::{IpArgs, IpCommand, IpShowArgs};
use crate::commands::{hand_over, interfaces};
use crate::failure::Failure;

/// Runs a router until a signal stops it, or shows what a running one does.
pub(crate) fn run(args: &IpArgs) -> Result<(), Failure> {
    if let Some(IpCommand::Show(args)) = &args.command {
        return show(args);
    }
    if args.hand_over.background {
        return hand_over::start_in_background();
    }
    let namespace = args.namespace.clone().ok_or_else(|| Failure::message("--namespace NAME is missing"))?;
    interfaces::check(&args.interfaces, Some(CPU_PORT))?;
    let options = alone::Options {
        ports: args.ports,
        workers: args.workers.into(),
        stats: args.stats.clone(),
        metrics: args.metrics.clone(),
        hand_over: hand_over::options(&args.hand_over),
        ..alone::Options::new(interfaces::by_number(&args.interfaces), CPU_PORT)
    };
    let config = Config { namespace, names: BTreeMap::new() };
    alone::run(KIND, &config, &options, &|switch| starting(args, &config.namespace, switch))
        .map_err(interfaces::not_run)?;
    Ok(())
}

/// Serves network management, if the options ask for it.
#[cfg(feature = "telemetry")]
fn starting(args: &IpArgs, namespace: &str, switch: &Arc<Switch>) -> Result<Box<dyn Send>, StartError> {
    Ok(Box::new(management::start(args, namespace, switch).map_err(|failure| failure.reason())?))
}

#[cfg(not(feature = "telemetry"))]
fn starting(_: &IpArgs, _: &str, _: &Arc<Switch>) -> Result<Box<dyn Send>, StartError> {
    Ok(Box::new(()))
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

/// What network management reads of the router.
#[cfg(feature = "telemetry")]
mod management {
    use std::sync::Arc;

    use hopwright_dataplane::Switch;
    use hopwright_host::namespace::Namespace;
    use hopwright_host::netlink::Netlink;
    use hopwright_p4runtime::{Access, Options, ServeError, Server};
    use hopwright_telemetry::{Interfaces, gnmi};

    use crate::cli::ip::IpArgs;
    use crate::cli::p4runtime::clients;
    use crate::commands::telemetry::{self, Running};
    use crate::failure::Failure;

    /// Serves what the options ask for, until what is returned is dropped.
    pub(super) fn start(
        args: &IpArgs,
        namespace: &str,
        switch: &Arc<Switch>,
    ) -> Result<(Option<Server>, Running), Failure> {
        let namespace = Namespace::open(namespace).map_err(Failure::message)?;
        let open = || {
            // The devices that stand for ports have the names of the ports' own.
            let kernel = namespace.run(Netlink::open).map_err(Failure::message)?.map_err(Failure::message)?;
            let number = |name: &String| args.interfaces.iter().find(|it| it.name == *name).map(|it| it.number);
            let devices = kernel.devices().values();
            let ports = devices.filter_map(|device| Some((device.index, number(&device.name)?))).collect();
            telemetry::interfaces(Interfaces::of_control_plane(switch, &namespace, ports))
        };
        let Some(address) = args.gnmi else { return Ok((None, telemetry::start(&args.telemetry, switch, open)?)) };
        let interfaces = open()?;
        let running = telemetry::start(&args.telemetry, switch, || Ok(interfaces.clone()))?;
        let tls = args.tls.settings();
        let (encrypted, any_client) = (clients(tls.as_ref()), args.tls.tls_client_ca.is_none());
        let options = Options { address, tls, access: Access::Everybody };
        let serve = |devices, routes| gnmi::serve(interfaces, devices, routes);
        let server = Server::start_other(&options, "gNMI", serve).map_err(|error| match error {
            ServeError::Bind { .. } => Failure::message(format!("{error} (see --gnmi)")),
            other => Failure::message(other),
        })?;
        tracing::info!("gNMI at {}, {encrypted}", server.address());
        if !address.ip().is_loopback() && any_client {
            tracing::warn!("gNMI: anybody who reaches {address} can switch interfaces off (see --tls-client-ca)");
        }
        Ok((Some(server), running))
    }
}
