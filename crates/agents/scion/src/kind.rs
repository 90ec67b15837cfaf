//! The agent as one of the agents that a process may have.

use std::path::{Path, PathBuf};

use hopwright_agent::{Agent, Environment, Kind, Metric, Needs, Settings, SettingsError, StartError, Table};
use hopwright_driver::Compiled;
use serde::Deserialize;

use crate::TenantAgent;
use crate::agent::tenant;
use crate::control::program::{self, CPU_PORT, HUMMINGBIRD, LOCAL_PORT, URGENT_CPU_PORT};

/// The SCION border router's agent: `kind = "scion"`.
pub const KIND: &dyn Kind = &Scion;

struct Scion;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The file `router.toml`.
    config: PathBuf,
}

impl Kind for Scion {
    fn name(&self) -> &'static str {
        "scion"
    }

    fn needs(&self) -> Needs {
        Needs {
            cpu_port: Some(CPU_PORT),
            urgent_cpu_port: Some(URGENT_CPU_PORT),
            own_port: Some(LOCAL_PORT),
            macros: &[HUMMINGBIRD],
            untagged: true,
            kernel_neighbours: true,
        }
    }

    fn compile(&self, macros: &[String]) -> Compiled {
        program::compile_part(macros)
    }

    fn settings(&self, table: Table, folder: &Path) -> Result<Box<dyn Settings>, SettingsError> {
        let Config { config } = hopwright_agent::read(table)?;
        Ok(Box::new(Config { config: folder.join(config) }))
    }
}

impl Settings for Config {
    fn check(&self) -> Result<(), StartError> {
        Ok(tenant::load(&self.config, false).map(drop)?)
    }

    fn start(&self, environment: &Environment<'_>) -> Result<Box<dyn Agent>, StartError> {
        Ok(Box::new(TenantAgent::start(environment.switch, environment.tenant, environment.devices, &self.config)?))
    }
}

impl Agent for TenantAgent {
    fn is_running(&self) -> bool {
        TenantAgent::is_running(self)
    }

    fn reload(&self) {
        TenantAgent::reload(self);
    }

    fn metrics(&self) -> Vec<Metric> {
        let running = Metric::gauge(
            "hopwright_scion_running",
            "Whether the router's agent works.",
            TenantAgent::is_running(self).into(),
        );
        // There are no counts if the tenant runs another program.
        let Ok(c) = self.counts() else { return vec![running] };
        vec![
            Metric::counter("hopwright_scion_forwarded_packets_total", "SCION packets forwarded.", c.forwarded),
            Metric::counter(
                "hopwright_scion_dropped_packets_total",
                "Packets that the router's program dropped.",
                c.dropped,
            ),
            Metric::counter(
                "hopwright_scion_punted_packets_total",
                "Packets that the router's agent got: to be answered, and BFD.",
                c.punted,
            ),
            Metric::counter(
                "hopwright_scion_reloads_total",
                "Changes of the router's configuration that were applied.",
                c.reloads.applied,
            ),
            running,
            Metric::gauge("hopwright_scion_bfd_sessions", "BFD sessions of the router.", c.bfd_sessions),
            Metric::gauge(
                "hopwright_scion_bfd_sessions_up",
                "BFD sessions of the router that are up.",
                c.bfd_sessions_up,
            ),
            Metric::gauge(
                "hopwright_scion_reload_failed",
                "Whether the last change of the router's configuration was refused or failed.",
                c.reloads.error.is_some().into(),
            ),
        ]
    }
}
