//! Why a router does not start, or has stopped.

use std::io;
use std::path::PathBuf;

use hopwright_dataplane::{BuildError, ControlError, SwitchError};
use hopwright_ports::opener::OpenerError;

use crate::config::ConfigError;

/// Why a router does not start, or has stopped.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum AgentError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Program(#[from] BuildError),
    #[error("the program's tables: {0}")]
    Tables(#[from] ControlError),
    #[error("netlink: {0}")]
    Netlink(#[source] io::Error),
    #[error("{0} has links over Ethernet and over UDP: a device has one kind")]
    MixedDevice(String),
    #[error("there is no device {0} with an Ethernet address")]
    UnknownDevice(String),
    #[error("{device} has an MTU of {mtu}: 1,500 at least are needed")]
    SmallMtu { device: String, mtu: u32 },
    #[error("{0}")]
    Device(#[from] OpenerError),
    #[error(transparent)]
    Switch(#[from] SwitchError),
    #[error("{}: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("metrics.address = \"{address}\": {source}")]
    Metrics { address: String, source: io::Error },
    #[error("no thread: {0}")]
    Thread(#[source] io::Error),
    #[error("a worker died")]
    Worker,
    #[error("what the switch elsewhere is to have: {0}")]
    Replica(String),
}
