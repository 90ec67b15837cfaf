//! The agent as one of the agents that a process may have.

use std::path::Path;

use hopwright_agent::{Environment, Kind, Metric, Needs, Settings, SettingsError, StartError, Succession, Table};
use hopwright_driver::Compiled;

use crate::{Agent, Config, compile};

/// The OpenFlow switch's agent: `kind = "openflow"`.
pub const KIND: &dyn Kind = &OpenFlow;

struct OpenFlow;

impl Kind for OpenFlow {
    fn name(&self) -> &'static str {
        "openflow"
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn compile(&self, _: &[String]) -> Compiled {
        compile()
    }

    fn settings(&self, table: Table, _: &Path) -> Result<Box<dyn Settings>, SettingsError> {
        Ok(Box::new(hopwright_agent::read::<Config>(table)?))
    }
}

impl Settings for Config {
    fn start(&self, environment: &Environment<'_>) -> Result<Box<dyn hopwright_agent::Agent>, StartError> {
        Ok(Box::new(Agent::start(environment, self.clone())?))
    }
}

impl hopwright_agent::Agent for Agent {
    fn is_running(&self) -> bool {
        self.works()
    }

    fn succession(&self) -> Option<&dyn Succession> {
        Some(self)
    }

    fn metrics(&self) -> Vec<Metric> {
        let c = self.counters();
        let counter = |name, help, value| Metric::counter(name, help, value);
        vec![
            counter("hopwright_openflow_messages_total", "Messages of controllers.", c.messages),
            counter(
                "hopwright_openflow_refused_messages_total",
                "Messages of controllers that were refused.",
                c.refused,
            ),
            counter("hopwright_openflow_flow_mods_total", "Flow messages.", c.flow_mods),
            counter("hopwright_openflow_packets_in_total", "Packets sent to controllers.", c.packet_ins),
            counter("hopwright_openflow_packets_out_total", "Packets of controllers.", c.packet_outs),
            counter(
                "hopwright_openflow_lost_packets_out_total",
                "Packets of controllers without room in the queue.",
                c.packet_outs_lost,
            ),
            counter(
                "hopwright_openflow_lost_events_total",
                "Messages that controllers did not read in time.",
                c.events_lost,
            ),
            Metric::gauge("hopwright_openflow_controllers", "Controllers that are connected.", c.controllers),
            Metric::gauge("hopwright_openflow_flows", "Flows.", c.flows),
        ]
    }
}
