//! P4Runtime, and BfRuntime and gNMI where the build has them, of `hopwright run`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hopwright_dataplane::{Switch, Tenant};
use hopwright_driver::Compiled;
use hopwright_p4runtime::{Access, Device, EnginePolicy, Options, Program, ServeError};
#[cfg(feature = "telemetry")]
use hopwright_telemetry::{Interfaces, Numbers};

use crate::cli::RunArgs;
use crate::cli::p4runtime::clients;
use crate::cli::program::RunEngine;
#[cfg(feature = "telemetry")]
use crate::commands::telemetry;
use crate::compile;
use crate::failure::Failure;

/// The protocols that are served.
const PROTOCOLS: &str = match (cfg!(feature = "bfruntime"), cfg!(feature = "telemetry")) {
    (true, true) => "P4Runtime, BfRuntime and gNMI",
    (true, false) => "P4Runtime and BfRuntime",
    (false, true) => "P4Runtime and gNMI",
    (false, false) => "P4Runtime",
};

/// The server, if the command line does not forbid it.
pub(crate) struct Server(Option<hopwright_p4runtime::Server>);

impl Server {
    /// Serves the switch, which already runs the program, or has none yet.
    pub(crate) fn start(args: &RunArgs, switch: &Arc<Switch>, compiled: Option<&Compiled>) -> Result<Server, Failure> {
        let (serve, tenant) = (&args.serve, switch.default_tenant());
        if serve.no_p4runtime {
            return Ok(Server(None));
        }
        let tls = serve.tls.settings();
        let clients = clients(tls.as_ref());
        let mut device = Device::new(serve.device_id, tenant.clone(), policy(args.engine));
        if let Some(count) = serve.count_fcs {
            device = device.count_fcs(count);
        }
        if let Some(compiled) = compiled {
            device = with_program(device, args, compiled)?;
        }
        let options = Options { address: serve.p4runtime, tls, access: Access::Everybody };
        #[cfg(feature = "telemetry")]
        let interfaces = telemetry::interfaces(Interfaces::of_switch(switch, Numbers::Ports))?;
        let others = |devices: hopwright_p4runtime::Devices, routes| {
            #[cfg(feature = "bfruntime")]
            let routes = hopwright_bfruntime::serve(devices.clone(), routes);
            #[cfg(feature = "telemetry")]
            let routes = hopwright_telemetry::gnmi::serve(interfaces, devices.clone(), routes);
            drop(devices);
            routes
        };
        let server = hopwright_p4runtime::Server::start_with(&options, [device], others);
        let server = server.map_err(|e| match e {
            ServeError::Bind { .. } => Failure::message(format!("{e} (see --p4runtime and --no-p4runtime)")),
            other => Failure::message(other),
        })?;
        let address = server.address();
        tracing::info!("{PROTOCOLS}: device {} at {address}, {clients}", serve.device_id);
        if !address.ip().is_loopback() && serve.tls.tls_client_ca.is_none() {
            tracing::warn!("P4Runtime: anybody who reaches {address} can control this switch (see --tls-client-ca)");
        }
        Ok(Server(Some(server)))
    }

    /// Where it is served, if it is.
    #[cfg(feature = "bmv2")]
    pub(crate) fn address(&self) -> Option<std::net::SocketAddr> {
        self.0.as_ref().map(hopwright_p4runtime::Server::address)
    }

    /// The device that controllers have; without a server, one that only the page has, if there is one.
    #[cfg(feature = "page")]
    pub(crate) fn device_of_page(
        &self,
        args: &RunArgs,
        tenant: &Arc<Tenant>,
        compiled: Option<&Compiled>,
    ) -> Result<Option<Arc<Device>>, Failure> {
        match (self.device(), compiled) {
            (Some(device), _) => Ok(Some(device)),
            (None, Some(compiled)) if args.page.http.is_some() => {
                let device = Device::new(args.serve.device_id, tenant.clone(), policy(args.engine));
                Ok(Some(Arc::new(with_program(device, args, compiled)?)))
            }
            _ => Ok(None),
        }
    }

    /// Whether controllers get the packets for the CPU.
    pub(crate) fn takes_packets(&self) -> bool {
        self.0.is_some()
    }

    /// What controllers control, if there is a server.
    pub(crate) fn device(&self) -> Option<Arc<Device>> {
        self.0.as_ref().and_then(|server| server.devices().into_iter().next())
    }

    /// Reads what controllers have done, also when the server has gone; null without a server.
    pub(crate) fn counts(&self) -> impl Fn() -> serde_json::Value + use<> {
        let device = self.device();
        move || {
            let Some(device) = &device else { return serde_json::Value::Null };
            let (c, get) = (device.counts(), |count: &AtomicU64| count.load(Ordering::Relaxed));
            serde_json::json!({
                "updates": get(&c.updates), "updates_failed": get(&c.failed),
                "packets_in": get(&c.packets_in), "messages_lost": get(&c.lost),
                "packets_out": get(&c.packets_out), "packets_out_refused": get(&c.packets_out_refused),
            })
        }
    }
}

/// The device with the program that the switch runs already.
fn with_program(device: Device, args: &RunArgs, compiled: &Compiled) -> Result<Device, Failure> {
    let config = compile::device_config(compiled, &args.source)?;
    let program = Program::from_compiled(compiled, config.into());
    Ok(device.with_program(program.map_err(|f| Failure::message(f.message))?))
}

/// How programs that controllers push run: as the first one.
fn policy(engine: RunEngine) -> EnginePolicy {
    match engine {
        RunEngine::Auto => EnginePolicy::Auto,
        RunEngine::Interp => EnginePolicy::Interp,
        #[cfg(feature = "jit")]
        RunEngine::Jit => EnginePolicy::Jit,
        #[cfg(feature = "rtl")]
        RunEngine::Rtl => EnginePolicy::Other(hopwright_p4runtime::Maker(crate::hardware::hardware)),
    }
}
