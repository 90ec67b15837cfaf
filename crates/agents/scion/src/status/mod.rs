//! The status of a running router, for readers on other threads: the agent publishes snapshots, and metrics and HTTP
//! pages read them, so that no reader makes the agent or a worker wait. It holds no keys.

pub mod http;
pub mod metrics;
pub mod state;
pub mod stats;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use hopwright_dataplane::{StageTime, Switch, SwitchStats, Tenant, TenantPorts};
use hopwright_host::metrics::CounterFamily;
use hopwright_host::next_hop::HostCounts;

use crate::bfd::Cause;
use crate::config::Config;
use crate::config::links::Links;
use crate::config::topology::Topology;
use crate::setup::Setup;
use crate::setup::change::ReloadCounts;
use crate::status::metrics::{OwnPackets, SlowPathDrops};
use crate::underlay::LinkPorts;

/// The switch and the tenant, the active configuration and the last snapshot.
#[derive(Debug)]
pub struct Status {
    switch: Arc<Switch>,
    tenant: Arc<Tenant>,
    active: Mutex<Arc<ActiveConfig>>,
    snapshot: Mutex<Arc<Snapshot>>,
}

/// The configuration that the router runs with, as pages show it: without keys.
#[derive(Clone, Debug)]
pub struct ActiveConfig {
    /// `router.toml`.
    pub config: Config,
    /// `topology.json`.
    pub topology: Topology,
    /// The router's links.
    pub links: Links,
}

impl ActiveConfig {
    /// That of a setup.
    pub(crate) fn of(setup: &Setup) -> ActiveConfig {
        ActiveConfig { config: setup.config.clone(), topology: setup.topology.clone(), links: setup.links.clone() }
    }
}

/// The agent's counters and state.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Packets that the router itself has sent.
    pub own_packets: OwnPackets,
    /// BFD sessions by the counter index of their links. Links without a session count as up.
    pub sessions: BTreeMap<u16, Session>,
    /// Links that are down whatever their sessions say, by the index of their counters, and why.
    pub broken: BTreeMap<u16, String>,
    /// Punted packets that were dropped.
    pub slow_path_drops: SlowPathDrops,
    /// Hosts that have entries.
    pub hosts: HostCounts,
    /// The kinds of port that each link uses.
    pub link_ports: Vec<LinkPorts>,
    /// Time spent on punted packets.
    pub slow_path: StageTime,
    /// Changes of the configuration.
    pub reloads: ReloadCounts,
    /// When the hop-field key was set that is in force.
    pub key_set: Option<SystemTime>,
    /// Whether the statistics file was written the last time, if there is to be one.
    pub stats_written: Option<bool>,
    /// Other counters of the agent.
    pub counts: Vec<CounterFamily>,
}

/// A BFD session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Whether the session is up.
    pub up: bool,
    /// Number of state changes.
    pub state_changes: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Why and when it has gone down, if it is down and has been up.
    pub down: Option<(Cause, Instant)>,
}

impl Status {
    /// Creates the status of a tenant of a switch and its configuration.
    pub fn new(switch: Arc<Switch>, tenant: Arc<Tenant>, active: ActiveConfig) -> Arc<Status> {
        Arc::new(Status { switch, tenant, active: Mutex::new(Arc::new(active)), snapshot: Mutex::default() })
    }

    /// The tenant that runs the program.
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// The counts now: the tenant's, and those of its ports. What a port that other tenants share has counted is
    /// everybody's, and so are the times of stages.
    pub fn stats(&self) -> SwitchStats {
        let mut stats = self.switch.stats();
        if *self.tenant.port_numbers() != TenantPorts::All {
            let own: Vec<String> = self.tenant.ports().into_iter().map(|port| port.name).collect();
            stats.total = self.tenant.stats();
            stats.ports.retain(|port| own.contains(&port.name));
            stats.removed_ports = Default::default();
        }
        stats
    }

    /// The active configuration.
    pub fn active(&self) -> Arc<ActiveConfig> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the active configuration.
    pub fn set_active(&self, active: ActiveConfig) {
        *self.active.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(active);
    }

    /// The last published snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Publishes a new snapshot.
    pub fn publish(&self, snapshot: Snapshot) {
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }
}
