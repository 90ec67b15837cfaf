//! The agent as one of the agents that a process may have.

use std::path::Path;

use hopwright_agent::{Environment, Kind, Metric, Needs, Settings, SettingsError, StartError, Succession, Table};
use hopwright_driver::Compiled;
use serde_json::{Map, Value, json};

use crate::program::{self, URGENT_CPU_PORT};
use crate::{Agent, Config};

/// The IP router's agent: `kind = "ip"`.
pub const KIND: &dyn Kind = &Ip;

struct Ip;

impl Kind for Ip {
    fn name(&self) -> &'static str {
        "ip"
    }

    fn needs(&self) -> Needs {
        Needs { urgent_cpu_port: Some(URGENT_CPU_PORT), ..Needs::default() }
    }

    fn compile(&self, _: &[String]) -> Compiled {
        program::compile()
    }

    fn settings(&self, table: Table, _: &Path) -> Result<Box<dyn Settings>, SettingsError> {
        Ok(Box::new(hopwright_agent::read::<Config>(table)?))
    }
}

impl Settings for Config {
    fn name(&self) -> String {
        format!("with namespace {}", self.namespace)
    }

    fn start(&self, environment: &Environment<'_>) -> Result<Box<dyn hopwright_agent::Agent>, StartError> {
        Ok(Box::new(Agent::start(environment, self)?))
    }
}

impl hopwright_agent::Agent for Agent {
    fn is_running(&self) -> bool {
        !self.failed()
    }

    fn succession(&self) -> Option<&dyn Succession> {
        Some(self)
    }

    fn metrics(&self) -> Vec<Metric> {
        let c = self.counts();
        vec![
            Metric::counter("hopwright_ip_to_kernel_packets_total", "Punted packets that the kernel got.", c.to_kernel),
            Metric::counter(
                "hopwright_ip_to_kernel_lost_packets_total",
                "Punted packets that the kernel did not get.",
                c.to_kernel_lost,
            ),
            Metric::counter(
                "hopwright_ip_from_kernel_packets_total",
                "Packets of the kernel that were sent.",
                c.from_kernel,
            ),
            Metric::counter(
                "hopwright_ip_from_kernel_lost_packets_total",
                "Packets of the kernel that the switch did not take.",
                c.from_kernel_lost,
            ),
            Metric::counter("hopwright_ip_route_changes_total", "Route entries added, changed and removed.", c.changes),
            Metric::counter("hopwright_ip_refused_routes_total", "Routes that the tables had no room for.", c.refused),
            Metric::gauge("hopwright_ip_routes", "Route entries.", c.routes),
            Metric::gauge(
                "hopwright_ip_left_to_kernel",
                "Reasons to leave packets to the kernel: `hopwright ip show` names them.",
                c.punted,
            ),
        ]
    }

    fn stats(&self) -> Map<String, Value> {
        let c = self.counts();
        let page = [
            (
                "reasons",
                self.reasons().into_iter().map(|(name, packets)| (name, packets.into())).collect::<Map<_, _>>().into(),
            ),
            ("to_kernel", json!({ "packets": c.to_kernel, "lost": c.to_kernel_lost })),
            ("from_kernel", json!({ "packets": c.from_kernel, "lost": c.from_kernel_lost })),
            ("routes", c.routes.into()),
            ("next_hops", c.next_hops.into()),
            ("groups", c.groups.into()),
            ("route_changes", c.changes.into()),
            ("routes_refused", c.refused.into()),
            ("route_reloads", c.reloads.into()),
            ("notifications_lost", c.overruns.into()),
            ("undecoded", c.undecoded.into()),
            ("neighbour_probes", c.probes.into()),
            ("left_to_kernel", c.punted.into()),
        ];
        page.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    }
}
