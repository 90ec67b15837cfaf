//! Agents: the control planes of protocols, each beside the P4 program that it drives.
//!
//! A protocol implements [`Kind`]. With it a switch with tenants runs its agent as one tenant's control
//! plane, by `kind = "NAME"` in `switch.toml`; [`alone::run`] runs it as the only one of a process. Either checks the settings first
//! ([`Kind::settings`], [`Settings::check`]), then starts the agent in its [`Environment`]. From then on there is an [`Agent`], which is asked
//! for its metrics, reads its files again on request, and stops when it is dropped.
//!
//! The examples of `hopwright-switch` are protocols of their own in about a hundred lines: `arp_responder` has a table and a file of
//! settings, `echo_responder` gets packets from its program and sends others.

pub mod alone;
pub mod hand_over;
mod metric;
mod succession;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::{Switch, Tenant};
use hopwright_driver::Compiled;
use serde::de::DeserializeOwned;

pub use metric::{Metric, MetricKind, losses, write_devices, write_metrics, write_traffic};
pub use succession::{Inheritance, Succession};
// For settings: the form in which they come.
pub use toml::Table;

/// The kinds of agents that a process knows.
pub type Kinds = &'static [&'static dyn Kind];

/// A protocol whose control plane runs in the process of its data plane.
pub trait Kind: Sync {
    /// Its name in configurations: lower-case letters.
    fn name(&self) -> &'static str;

    /// What it demands of the switch and of its tenant.
    fn needs(&self) -> Needs;

    /// Compiles the program that it brings along, with macros among [`Needs::macros`].
    fn compile(&self, macros: &[String]) -> Compiled;

    /// Reads settings. Paths in them are relative to a folder. Neither devices nor privileges are needed.
    ///
    /// # Errors
    /// What is wrong with them: the key, and what was expected.
    fn settings(&self, table: Table, folder: &Path) -> Result<Box<dyn Settings>, SettingsError>;
}

impl fmt::Debug for dyn Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for dyn Kind {
    fn eq(&self, other: &dyn Kind) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Kind {}

/// What agents of a kind demand of the switch and of their tenant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// The only number that the CPU port can have.
    pub cpu_port: Option<u32>,
    /// The port by which the program sends packets to the agent that must not wait behind others.
    pub urgent_cpu_port: Option<u32>,
    /// A port that the agent adds to the switch itself.
    pub own_port: Option<u32>,
    /// The macros that its program has.
    pub macros: &'static [&'static str],
    /// The program takes no frames with VLAN tags.
    pub untagged: bool,
    /// The kernel resolves neighbours by the same devices, so that it must get frames of them, too.
    pub kernel_neighbours: bool,
}

impl Needs {
    /// Numbers that no device can have among the tenant's ports, besides the CPU port.
    pub fn reserved_ports(&self) -> impl Iterator<Item = u32> + use<> {
        self.urgent_cpu_port.into_iter().chain(self.own_port)
    }
}

/// The name of the port that a tenant's agent adds to the switch ([`Needs::own_port`]). No device has it, because of the colon.
pub fn own_port_name(tenant: &str) -> String {
    format!("agent:{tenant}")
}

/// Reads the settings of a kind from their table.
///
/// # Errors
/// The key that is wrong or missing, and what was expected.
pub fn read<T: DeserializeOwned>(table: Table) -> Result<T, SettingsError> {
    T::deserialize(table).map_err(|error: toml::de::Error| SettingsError(error.message().to_string()))
}

/// Settings that a kind of agents does not take: the key that is wrong or missing, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(String);

impl From<&str> for SettingsError {
    fn from(what: &str) -> SettingsError {
        SettingsError(what.into())
    }
}

impl From<String> for SettingsError {
    fn from(what: String) -> SettingsError {
        SettingsError(what)
    }
}

/// Settings that have been read.
pub trait Settings {
    /// Reads and checks the files that they name.
    ///
    /// # Errors
    /// What is wrong with them.
    fn check(&self) -> Result<(), StartError> {
        Ok(())
    }

    /// Which agent of its kind it is, for a process that is to take over from another one.
    fn name(&self) -> String {
        String::new()
    }

    /// Starts an agent.
    ///
    /// # Errors
    /// Why it cannot start. Nothing of it is left then.
    fn start(&self, environment: &Environment<'_>) -> Result<Box<dyn Agent>, StartError>;
}

/// Why an agent does not start.
pub type StartError = Box<dyn Error + Send + Sync>;

/// Where an agent works.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// The switch.
    pub switch: &'a Arc<Switch>,
    /// Its tenant that the agent drives: the program's tables, and the packets that it sends to the CPU.
    pub tenant: &'a Arc<Tenant>,
    /// The names of the tenant's devices, by their port numbers in the program.
    pub devices: &'a BTreeMap<u32, String>,
    /// What the agent gets of one in another process that it takes over from. It takes nothing in until [`Succession::begin`] then.
    pub inherited: Option<&'a Inheritance>,
    /// Descriptors that were kept when another process crashed ([`Succession::lasts`]), by name.
    pub lasting: &'a Inheritance,
}

/// An agent at work, on threads of its own. It stops when it is dropped; the program's tables stay as they are.
pub trait Agent: Send + Sync {
    /// Whether it works. An agent ends by itself only after a failure, which it has logged.
    fn is_running(&self) -> bool;

    /// Has it read its files again.
    fn reload(&self) {}

    /// Its part when another process takes over; `None` if none can.
    fn succession(&self) -> Option<&dyn Succession> {
        None
    }

    /// Its metrics now.
    fn metrics(&self) -> Vec<Metric>;

    /// What `--stats` of a program of its own writes: the metrics, unless a kind has a form of its own.
    fn stats(&self) -> serde_json::Map<String, serde_json::Value> {
        self.metrics().into_iter().map(|metric| (metric.name.to_string(), metric.value.into())).collect()
    }
}
