//! Agents: control planes of tenants that run in the switch's process. An agent has the program, the CPU queues and the tables of its
//! tenant; P4Runtime clients only read.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hopwright_dataplane::{Switch, Tenant};
use hopwright_driver::Compiled;
use hopwright_host::metrics::Text;
use hopwright_scion::agent::tenant;
use hopwright_scion::control::program as scion_program;
use serde::Deserialize;

use crate::config::{self, AgentKind};
use crate::running::lock;

/// A tenant's agent; it stops when it is dropped.
enum Running {
    Ip(hopwright_ip::Agent),
    OpenFlow(hopwright_openflow::Agent),
    Scion(Box<hopwright_scion::TenantAgent>),
}

/// The place of a tenant's agent, which comes and goes.
#[derive(Clone, Default)]
pub(crate) struct Agent(Arc<Mutex<Option<Running>>>);

/// An agent's settings in its own form.
enum Settings {
    Ip(hopwright_ip::Config),
    OpenFlow(hopwright_openflow::Config),
    /// The file `router.toml`.
    Scion(PathBuf),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scion {
    config: PathBuf,
}

fn settings(agent: &config::Agent) -> Result<Settings, toml::de::Error> {
    let table = agent.settings.clone();
    Ok(match agent.kind {
        AgentKind::Ip => Settings::Ip(hopwright_ip::Config::deserialize(table)?),
        AgentKind::OpenFlow => Settings::OpenFlow(hopwright_openflow::Config::deserialize(table)?),
        AgentKind::Scion => Settings::Scion(Scion::deserialize(table)?.config),
    })
}

/// Checks settings.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn check(agent: &config::Agent) -> Result<(), String> {
    settings(agent).map(drop).map_err(|e| e.message().to_string())
}

/// Reads and checks the files that an agent's settings name.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn check_files(agent: &config::Agent) -> Result<(), String> {
    match settings(agent).map_err(|e| e.message().to_string())? {
        Settings::Scion(file) => tenant::load(&file, false).map(drop).map_err(|e| e.to_string()),
        Settings::Ip(_) | Settings::OpenFlow(_) => Ok(()),
    }
}

/// Which macro the program that an agent brings along does not have, if any.
pub(crate) fn unknown_macro(kind: AgentKind, defines: &[String]) -> Option<&String> {
    defines.iter().find(|name| kind != AgentKind::Scion || *name != scion_program::HUMMINGBIRD)
}

/// The program that an agent brings along, with these macros.
pub(crate) fn program(kind: AgentKind, defines: &[String]) -> Compiled {
    match kind {
        AgentKind::Ip => hopwright_ip::program::compile(),
        AgentKind::OpenFlow => hopwright_openflow::compile(),
        AgentKind::Scion => scion_program::compile_part(defines),
    }
}

/// The port by which an agent's program sends packets that must not wait behind others.
pub(crate) fn urgent_cpu_port(kind: AgentKind) -> Option<u32> {
    match kind {
        AgentKind::Ip => Some(hopwright_ip::program::URGENT_CPU_PORT),
        AgentKind::OpenFlow => None,
        AgentKind::Scion => Some(scion_program::URGENT_CPU_PORT),
    }
}

/// The CPU port of an agent's program, if it has to be that one.
pub(crate) fn cpu_port(kind: AgentKind) -> Option<u32> {
    (kind == AgentKind::Scion).then_some(scion_program::CPU_PORT)
}

/// The port that an agent adds to the switch for a tenant: the program's number, and a name that no device has.
pub(crate) fn own_port(tenant: &config::Tenant) -> Option<(u32, String)> {
    let of_scion = tenant.agent.as_ref().is_some_and(|agent| agent.kind == AgentKind::Scion);
    of_scion.then(|| (scion_program::LOCAL_PORT, tenant::udp_port_name(&tenant.name)))
}

/// Port numbers of an agent's program that no device can have, besides the CPU port.
pub(crate) fn reserved_ports(kind: AgentKind) -> Vec<u32> {
    let own = (kind == AgentKind::Scion).then_some(scion_program::LOCAL_PORT);
    urgent_cpu_port(kind).into_iter().chain(own).collect()
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
            Settings::Scion(file) => {
                let agent = hopwright_scion::TenantAgent::start(switch, tenant, &config.ports, &file);
                Running::Scion(Box::new(agent.map_err(|e| e.to_string())?))
            }
        };
        *lock(&self.0) = Some(running);
        Ok(())
    }

    /// Has the agent read its files again, if it has some.
    pub(crate) fn reload(&self) {
        if let Some(Running::Scion(agent)) = &*lock(&self.0) {
            agent.reload();
        }
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

const SCION: [Family<hopwright_scion::agent::tenant::Counts>; 4] = [
    ("hopwright_scion_forwarded_packets_total", "SCION packets forwarded.", |c| c.forwarded),
    ("hopwright_scion_dropped_packets_total", "Packets that the router's program dropped.", |c| c.dropped),
    ("hopwright_scion_punted_packets_total", "Packets that the router's agent got: to be answered, and BFD.", |c| {
        c.punted
    }),
    ("hopwright_scion_reloads_total", "Changes of the router's configuration that were applied.", |c| {
        c.reloads.applied
    }),
];

/// Writes the metrics of tenants' agents.
pub(crate) fn write_metrics<'a>(text: &mut Text, agents: impl Iterator<Item = (&'a str, Agent)>) {
    let (mut ip, mut openflow, mut scion, mut running) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (tenant, agent) in agents {
        match &*lock(&agent.0) {
            Some(Running::Ip(agent)) => ip.push((tenant, agent.counts())),
            Some(Running::OpenFlow(agent)) => openflow.push((tenant, agent.counters())),
            Some(Running::Scion(agent)) => {
                running.push((tenant, u64::from(agent.is_running())));
                // There are none if the tenant runs another program.
                scion.extend(agent.counts().ok().map(|counts| (tenant, counts)));
            }
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
    write(text, &SCION, &scion);
    let gauge = |text: &mut Text, name, help, values: Vec<(&str, u64)>| {
        if !values.is_empty() {
            text.gauge(name, help);
            values.iter().for_each(|(tenant, value)| text.sample(&[("tenant", tenant)], value));
        }
    };
    gauge(text, "hopwright_ip_routes", "Route entries.", ip.iter().map(|(t, c)| (*t, c.routes)).collect());
    gauge(
        text,
        "hopwright_ip_left_to_kernel",
        "Reasons to leave packets to the kernel: `hopwright ip show` names them.",
        ip.iter().map(|(t, c)| (*t, c.punted)).collect(),
    );
    gauge(
        text,
        "hopwright_openflow_controllers",
        "Controllers that are connected.",
        openflow.iter().map(|(t, c)| (*t, c.controllers)).collect(),
    );
    gauge(text, "hopwright_scion_running", "Whether the router's agent works.", running);
    gauge(
        text,
        "hopwright_scion_bfd_sessions",
        "BFD sessions of the router.",
        scion.iter().map(|(t, c)| (*t, c.bfd_sessions)).collect(),
    );
    gauge(
        text,
        "hopwright_scion_bfd_sessions_up",
        "BFD sessions of the router that are up.",
        scion.iter().map(|(t, c)| (*t, c.bfd_sessions_up)).collect(),
    );
    gauge(
        text,
        "hopwright_scion_reload_failed",
        "Whether the last change of the router's configuration was refused or failed.",
        scion.iter().map(|(t, c)| (*t, u64::from(c.reloads.error.is_some()))).collect(),
    );
    gauge(text, "hopwright_openflow_flows", "Flows.", openflow.iter().map(|(t, c)| (*t, c.flows)).collect());
}
