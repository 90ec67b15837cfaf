//! `switch.toml`: ports, tenants, who may control them, where metrics are served.
//!
//! [`Config`] is the checked form. Every problem of a file is reported, with its line.

mod file;
mod problem;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use hopwright_agent::{Kind, Kinds, Settings, SettingsError};
use hopwright_dataplane::EgressQueues;
use hopwright_host::files;
use hopwright_p4runtime::EnginePolicy;
use hopwright_ports::PortChoice;

pub use hopwright_dataplane::quantity::{Bytes, Quantity, UnknownBytes, UnknownQuantity};
pub use problem::{ConfigError, Problem};

/// Longest `switch.toml`, in bytes.
const LONGEST: usize = 1 << 20;

/// A sample `switch.toml` with every key.
pub const SAMPLE: &str = include_str!("sample_switch.toml");

/// The number of the CPU port that programs have by default.
pub const CPU_PORT: u32 = 510;

/// A switch with tenants.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `[switch]`
    pub switch: SwitchSettings,
    /// The devices, by name.
    pub ports: Vec<String>,
    /// The egress queues of devices with a rate, by name.
    pub queues: BTreeMap<String, EgressQueues>,
    /// The tenants, in order.
    pub tenants: Vec<Tenant>,
    /// `[p4runtime]`
    pub p4runtime: Option<P4Runtime>,
    /// `[metrics] address`
    pub metrics: Option<String>,
    /// The kinds of agents that tenants can have.
    pub(crate) kinds: Kinds,
}

/// `[switch]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSettings {
    /// How packets are received and sent.
    pub ports: PortChoice,
    /// The largest MTU of the devices.
    pub mtu: u32,
    /// The bytes in front of packets that programs can grow into.
    pub headroom: u32,
    /// Packets taken from a device at a time, at most.
    pub batch: usize,
    /// Bytes of memory that all tenants may have together; `None`: that of the machine.
    pub memory: Option<u64>,
    /// Where the administration socket is.
    pub socket: PathBuf,
}

/// `[[tenant]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// Its program.
    pub program: Source,
    /// The program's port numbers and their devices.
    pub ports: BTreeMap<u32, String>,
    /// Which frames it gets; none: all that its ports receive.
    pub rules: Vec<Match>,
    /// Its CPU port.
    pub cpu_port: u32,
    /// Packets that may wait in each direction between the program and its control plane.
    pub cpu_queue: usize,
    /// What it may use.
    pub limits: Limits,
    /// Its P4Runtime device id; `None`: no controller reaches it.
    pub device_id: Option<u64>,
    /// Whether its counters and meters see packets with their frame check sequence; `None`: as on the device that the program is for.
    pub count_fcs: Option<bool>,
    /// Its control plane in the switch's process.
    pub agent: Option<Agent>,
}

/// `[tenant.agent]`
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// What it is.
    pub kind: &'static dyn Kind,
    /// The keys beside `kind`.
    pub settings: toml::Table,
    /// Paths in them are relative to this folder.
    folder: PathBuf,
}

impl Agent {
    /// Reads the settings.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn read(&self) -> Result<Box<dyn Settings>, SettingsError> {
        self.kind.settings(self.settings.clone(), &self.folder)
    }
}

/// A P4 program and how to compile it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The main file.
    pub file: Program,
    /// Macros: `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Folders of include files.
    pub include: Vec<PathBuf>,
    /// What runs it.
    pub engine: EnginePolicy,
    /// An STF file with entries to start with.
    pub entries: Option<PathBuf>,
}

/// Where a program is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// In a file.
    File(PathBuf),
    /// In an agent of this kind.
    Agent(&'static dyn Kind),
}

impl Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Program::File(file) => write!(f, "{}", file.display()),
            Program::Agent(kind) => write!(f, "the program of the agent `{}`", kind.name()),
        }
    }
}

/// Which frames a tenant gets. What is not given matches every frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Match {
    /// Received by this device.
    pub port: Option<String>,
    /// With this VLAN id; 0: without a VLAN.
    pub vlan: Option<u16>,
    /// With this destination address.
    pub mac: Option<[u8; 6]>,
    /// It gets copies of broadcast and multicast frames that the port and VLAN match.
    pub groups: bool,
}

/// What a tenant may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Packets a second.
    pub packets: Option<u64>,
    /// Bits a second.
    pub bits: Option<u64>,
    /// Its share of the processor's time, relative to those of other tenants.
    pub share: u32,
    /// Packet buffers that it may hold.
    pub frames: Option<u32>,
    /// Passes through its program that a packet may cause.
    pub passes: Option<u32>,
    /// Bytes of memory; `None`: an equal share of what tenants with a number of their own leave.
    pub memory: Option<u64>,
}

impl Limits {
    /// Checks the bounds of each.
    ///
    /// # Errors
    /// With what is wrong and what was expected.
    pub fn check(&self) -> Result<(), OutOfBounds> {
        fn within<T: Copy + PartialOrd + Into<u64>>(
            key: &'static str,
            value: Option<T>,
            bounds: &RangeInclusive<T>,
        ) -> Result<(), OutOfBounds> {
            match value.filter(|value| !bounds.contains(value)) {
                None => Ok(()),
                Some(value) => {
                    let bounds = (*bounds.start()).into()..=(*bounds.end()).into();
                    Err(OutOfBounds { key, value: value.into(), bounds })
                }
            }
        }
        within("packets", self.packets, &PACKETS)?;
        within("bits", self.bits, &BITS)?;
        within("share", Some(self.share), &SHARE)?;
        within("frames", self.frames, &FRAMES)?;
        within("passes", self.passes, &PASSES)?;
        within("memory", self.memory, &MEMORY)
    }
}

/// A limit that is less or more than it can be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {value}: expected {} to {}", .bounds.start(), .bounds.end())]
pub struct OutOfBounds {
    /// The name of the limit.
    pub key: &'static str,
    /// Its value.
    pub value: u64,
    /// What it can be.
    pub bounds: RangeInclusive<u64>,
}

/// Bounds of [`Limits::packets`].
const PACKETS: RangeInclusive<u64> = 1..=1_000_000_000_000;
/// Bounds of [`Limits::bits`].
const BITS: RangeInclusive<u64> = 1000..=100_000_000_000_000;
/// Bounds of [`Limits::share`].
const SHARE: RangeInclusive<u32> = 1..=hopwright_dataplane::Limits::MAX_WEIGHT;
/// Bounds of [`Limits::frames`].
const FRAMES: RangeInclusive<u32> = 64..=1_000_000;
/// Bounds of [`Limits::memory`] and of all memory.
const MEMORY: RangeInclusive<u64> = 0..=1 << 60;
/// Bounds of [`Limits::passes`].
const PASSES: RangeInclusive<u32> = 1..=4096;

impl Default for Limits {
    /// No limit, a share of one.
    fn default() -> Limits {
        Limits { packets: None, bits: None, share: 1, frames: None, passes: None, memory: None }
    }
}

/// `[p4runtime]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct P4Runtime {
    /// Where it is served.
    pub address: SocketAddr,
    /// Certificates.
    pub tls: Option<Tls>,
    /// Who may connect; `None`: everybody.
    pub clients: Option<Vec<Client>>,
}

/// Files in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The server's certificate chain.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The authorities of clients' certificates.
    pub client_ca: Option<PathBuf>,
}

/// `[[p4runtime.client]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// A name in its certificate.
    pub name: String,
    /// The tenants that it reaches; `None`: all.
    pub tenants: Option<BTreeSet<String>>,
    /// The roles that it may have; `None`: any.
    pub roles: Option<BTreeSet<String>>,
    /// It may replace programs.
    pub programs: bool,
}

impl Config {
    /// Reads a file. Paths in it are relative to its folder. Tenants can have agents of these kinds.
    ///
    /// # Errors
    /// If it cannot be read, or with all problems in it.
    pub fn load(file: &Path, kinds: Kinds) -> Result<Config, ConfigError> {
        let text =
            files::read_text(file, LONGEST).map_err(|source| ConfigError::Read { file: file.to_path_buf(), source })?;
        Config::parse(file, &text, kinds)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// With all problems in it.
    pub fn parse(file: &Path, text: &str, kinds: Kinds) -> Result<Config, ConfigError> {
        file::parse(file, text, kinds)
    }

    /// This configuration with one more tenant: the text of a file with one `[[tenant]]` and nothing else.
    ///
    /// # Errors
    /// With all problems of the text.
    pub fn with_tenant(&self, file: &Path, text: &str) -> Result<Config, ConfigError> {
        file::parse_tenant(self, file, text)
    }

    /// This configuration without a tenant.
    pub fn without_tenant(&self, name: &str) -> Config {
        let mut config = self.clone();
        config.tenants.retain(|t| t.name != name);
        for client in config.p4runtime.iter_mut().flat_map(|p| &mut p.clients).flatten() {
            client.tenants.iter_mut().for_each(|tenants| tenants.retain(|t| t != name));
        }
        config
    }

    /// The tenant of this name.
    pub fn tenant(&self, name: &str) -> Option<&Tenant> {
        self.tenants.iter().find(|t| t.name == name)
    }
}

#[cfg(test)]
mod tests;
