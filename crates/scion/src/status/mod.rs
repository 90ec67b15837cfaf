//! The status of a running router, for readers on other threads: the agent publishes snapshots, and metrics and HTTP
//! pages read them, so that no reader makes the agent or a worker wait. It holds no keys.

pub mod http;
pub mod metrics;
pub mod stats;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hopwright_dataplane::{StageTime, Switch, Tenant};
use hopwright_host::metrics::CounterFamily;
use hopwright_host::next_hop::HostCounts;

use crate::config::Config;
use crate::config::links::Links;
use crate::config::topology::Topology;
use crate::status::metrics::{OwnPackets, SlowPathDrops};
use crate::underlay::LinkPorts;

/// The switch, what it runs with, and the last snapshot.
#[derive(Debug)]
pub struct Status {
    switch: Arc<Switch>,
    active: Mutex<Arc<ActiveConfig>>,
    snapshot: Mutex<Arc<Snapshot>>,
}

/// What the router runs with.
#[derive(Clone, Debug)]
pub struct ActiveConfig {
    /// `router.toml`.
    pub config: Config,
    /// `topology.json`.
    pub topology: Topology,
    /// The router's links.
    pub links: Links,
}

/// What the agent has counted.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Packets that the router itself has sent.
    pub own_packets: OwnPackets,
    /// BFD sessions by the counter index of their links. A link without one counts as up.
    pub sessions: BTreeMap<u16, Session>,
    /// Punted packets that were dropped.
    pub slow_path_drops: SlowPathDrops,
    /// Hosts that have entries.
    pub hosts: HostCounts,
    /// By which kinds of port each link is used.
    pub link_ports: Vec<LinkPorts>,
    /// Time spent on punted packets.
    pub slow_path: StageTime,
    /// Other counters of the agent.
    pub counts: Vec<CounterFamily>,
}

/// A BFD session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The other side answers.
    pub up: bool,
    /// Changes of state.
    pub state_changes: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
}

impl Status {
    /// A status that shows a switch and what it was set up with.
    pub fn new(switch: Arc<Switch>, active: ActiveConfig) -> Arc<Status> {
        Arc::new(Status { switch, active: Mutex::new(Arc::new(active)), snapshot: Mutex::default() })
    }

    /// The switch.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// Its tenant that runs the program.
    pub fn tenant(&self) -> &Tenant {
        self.switch.default_tenant()
    }

    /// What the router runs with.
    pub fn active(&self) -> Arc<ActiveConfig> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shows a new active.
    pub fn set_active(&self, active: ActiveConfig) {
        *self.active.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(active);
    }

    /// The snapshot as they were posted last.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Posts new snapshot.
    pub fn publish(&self, snapshot: Snapshot) {
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }
}
