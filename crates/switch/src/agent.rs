//! Agents: control planes of tenants that run in the switch's process. An agent has the program, the CPU queues and the tables of its
//! tenant; P4Runtime clients only read.

use std::sync::{Arc, Mutex};

use hopwright_dataplane::{Switch, Tenant};
use hopwright_driver::Compiled;
use hopwright_host::metrics::Text;
use serde::Deserialize;

use crate::config::{self, AgentKind};
use crate::running::lock;

/// A tenant's agent; it stops when it is dropped.
enum Running {
    Ip(hopwright_ip::Agent),
    OpenFlow(hopwright_openflow::Agent),
}

/// The place of a tenant's agent, which comes and goes.
#[derive(Clone, Default)]
pub(crate) struct Agent(Arc<Mutex<Option<Running>>>);

/// An agent's settings in its own form.
enum Settings {
    Ip(hopwright_ip::Config),
    OpenFlow(hopwright_openflow::Config),
}

fn settings(agent: &config::Agent) -> Result<Settings, toml::de::Error> {
    let table = agent.settings.clone();
    Ok(match agent.kind {
        AgentKind::Ip => Settings::Ip(hopwright_ip::Config::deserialize(table)?),
        AgentKind::OpenFlow => Settings::OpenFlow(hopwright_openflow::Config::deserialize(table)?),
    })
}

/// Checks settings.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn check(agent: &config::Agent) -> Result<(), String> {
    settings(agent).map(drop).map_err(|e| e.message().to_string())
}

/// The program that an agent brings along.
pub(crate) fn program(kind: AgentKind) -> Compiled {
    match kind {
        AgentKind::Ip => hopwright_ip::program::compile(),
        AgentKind::OpenFlow => hopwright_openflow::compile(),
    }
}

/// The port by which an agent's program sends packets that must not wait behind others.
pub(crate) fn urgent_cpu_port(kind: AgentKind) -> Option<u32> {
    match kind {
        AgentKind::Ip => Some(hopwright_ip::program::URGENT_CPU_PORT),
        AgentKind::OpenFlow => None,
    }
}

impl Agent {
    /// Starts the agent of a tenant, if it is to have one.
    ///
    /// # Errors
    /// Why it cannot start.
    pub(crate) fn start(
        &self,
        config: &config::Tenant,
        tenant: &Arc<Tenant>,
        switch: &Arc<Switch>,
    ) -> Result<(), String> {
        let Some(agent) = &config.agent else { return Ok(()) };
        let running = match settings(agent).map_err(|e| e.message().to_string())? {
            Settings::Ip(settings) => {
                Running::Ip(hopwright_ip::Agent::start(tenant, &config.ports, &settings).map_err(|e| e.to_string())?)
            }
            Settings::OpenFlow(settings) => Running::OpenFlow(
                hopwright_openflow::Agent::start(switch.clone(), tenant.clone(), settings)
                    .map_err(|e| e.to_string())?,
            ),
        };
        *lock(&self.0) = Some(running);
        Ok(())
    }

    /// Stops the agent. The tables stay as they are.
    pub(crate) fn stop(&self) {
        let running = lock(&self.0).take();
        drop(running);
    }
}

/// A family of an agent's metrics: its name, what it counts, its value.
type Family<T> = (&'static str, &'static str, fn(&T) -> u64);

const IP: [Family<hopwright_ip::Counts>; 6] = [
    ("hopwright_ip_to_kernel_packets_total", "Punted packets that the kernel got.", |c| c.to_kernel),
    ("hopwright_ip_to_kernel_lost_packets_total", "Punted packets that the kernel did not get.", |c| c.to_kernel_lost),
    ("hopwright_ip_from_kernel_packets_total", "Packets of the kernel that were sent.", |c| c.from_kernel),
    ("hopwright_ip_from_kernel_lost_packets_total", "Packets of the kernel that the switch did not take.", |c| {
        c.from_kernel_lost
    }),
    ("hopwright_ip_route_changes_total", "Route entries added, changed and removed.", |c| c.changes),
    ("hopwright_ip_refused_routes_total", "Route entries that the tables had no room for.", |c| c.refused),
];

const OPENFLOW: [Family<hopwright_openflow::Counters>; 7] = [
    ("hopwright_openflow_messages_total", "Messages of controllers.", |c| c.messages),
    ("hopwright_openflow_refused_messages_total", "Messages of controllers that were refused.", |c| c.refused),
    ("hopwright_openflow_flow_mods_total", "Flow messages.", |c| c.flow_mods),
    ("hopwright_openflow_packets_in_total", "Packets sent to controllers.", |c| c.packet_ins),
    ("hopwright_openflow_packets_out_total", "Packets of controllers.", |c| c.packet_outs),
    ("hopwright_openflow_lost_packets_out_total", "Packets of controllers without room in the queue.", |c| {
        c.packet_outs_lost
    }),
    ("hopwright_openflow_lost_events_total", "Messages that controllers did not read in time.", |c| c.events_lost),
];

/// Writes the metrics of tenants' agents.
pub(crate) fn write_metrics<'a>(text: &mut Text, agents: impl Iterator<Item = (&'a str, Agent)>) {
    let (mut ip, mut openflow) = (Vec::new(), Vec::new());
    for (tenant, agent) in agents {
        match &*lock(&agent.0) {
            Some(Running::Ip(agent)) => ip.push((tenant, agent.counts())),
            Some(Running::OpenFlow(agent)) => openflow.push((tenant, agent.counters())),
            None => {}
        }
    }
    fn write<T>(text: &mut Text, families: &[Family<T>], counts: &[(&str, T)]) {
        for (name, help, of) in families.iter().filter(|_| !counts.is_empty()) {
            text.counter(name, help);
            counts.iter().for_each(|(tenant, c)| text.sample(&[("tenant", tenant)], of(c)));
        }
    }
    write(text, &IP, &ip);
    write(text, &OPENFLOW, &openflow);
    let gauge = |text: &mut Text, name, help, values: Vec<(&str, u64)>| {
        if !values.is_empty() {
            text.gauge(name, help);
            values.iter().for_each(|(tenant, value)| text.sample(&[("tenant", tenant)], value));
        }
    };
    gauge(text, "hopwright_ip_routes", "Route entries.", ip.iter().map(|(t, c)| (*t, c.routes)).collect());
    gauge(
        text,
        "hopwright_openflow_controllers",
        "Controllers that are connected.",
        openflow.iter().map(|(t, c)| (*t, c.controllers)).collect(),
    );
    gauge(text, "hopwright_openflow_flows", "Flows.", openflow.iter().map(|(t, c)| (*t, c.flows)).collect());
}
