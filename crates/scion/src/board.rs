//! What a running router shows of itself. The agent writes it now and then; whoever serves it reads it at leisure, so
//! that no reader makes the agent or a worker wait.
//!
//! Keys are not on it. Does not live here: how it is shown ([`crate::metrics`], [`crate::http`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hopwright_dataplane::{StageTime, Switch};
use hopwright_host::metrics::CounterFamily;
use hopwright_host::next_hop::HostCounts;

use crate::config::Config;
use crate::links::Links;
use crate::metrics::{OwnPackets, SlowPathDrops};
use crate::topology::Topology;
use crate::underlay::LinkPorts;

/// See the module.
#[derive(Debug)]
pub struct Board {
    switch: Arc<Switch>,
    setting: Mutex<Arc<Setting>>,
    figures: Mutex<Arc<Figures>>,
}

/// What the router runs with.
#[derive(Clone, Debug)]
pub struct Setting {
    /// `router.toml`.
    pub config: Config,
    /// `topology.json`.
    pub topology: Topology,
    /// The router's links.
    pub links: Links,
}

/// What the agent has counted.
#[derive(Clone, Debug, Default)]
pub struct Figures {
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

impl Board {
    /// A board that shows a switch and what it was set up with.
    pub fn new(switch: Arc<Switch>, setting: Setting) -> Arc<Board> {
        Arc::new(Board { switch, setting: Mutex::new(Arc::new(setting)), figures: Mutex::default() })
    }

    /// The switch.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// What the router runs with.
    pub fn setting(&self) -> Arc<Setting> {
        self.setting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shows a new setting.
    pub fn set_setting(&self, setting: Setting) {
        *self.setting.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(setting);
    }

    /// The figures as they were posted last.
    pub fn figures(&self) -> Arc<Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Posts new figures.
    pub fn post(&self, figures: Figures) {
        *self.figures.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(figures);
    }
}
