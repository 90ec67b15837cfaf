//! Why a router does not run.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use hopwright_dataplane::{BuildError, ControlError};
use hopwright_host::capabilities::PrivilegeError;

use crate::bfd;
use crate::config::ConfigError;
use crate::config::change::NeedsRestart;
use crate::config::keys::KeyError;
use crate::config::links::LinksError;
use crate::config::topology::TopologyError;
use crate::control::program::{CPU_PORT, LOCAL_PORT, URGENT_CPU_PORT};
use crate::hand_over::HandOverError;
use crate::status::http::HttpError;
use crate::tap::TapError;

/// The reason why the router does not run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum AgentError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error("{}: {source}", file.display())]
    Links { file: PathBuf, source: Box<LinksError> },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("cannot read the kernel's devices and routes: {0}")]
    Netlink(#[source] io::Error),
    #[error("the switch has no port number left")]
    TooManyDevices,
    #[error("the hardware does not take the configuration: {0}")]
    Hardware(String),
    #[error(transparent)]
    Device(#[from] hopwright_ports::DeviceError),
    #[error(transparent)]
    Bind(#[from] hopwright_ports::udp::BindError),
    #[error("cannot use UDP sockets: {0}")]
    Sockets(#[source] io::Error),
    #[error(transparent)]
    Ports(#[from] hopwright_ports::opener::OpenerError),
    #[error("cannot load the program: {0}")]
    Program(String),
    #[error("cannot build the data plane: {0}")]
    Build(#[from] BuildError),
    #[error("cannot build the switch: {0}")]
    Switch(#[from] hopwright_dataplane::SwitchError),
    #[error("cannot program the data plane: {0}")]
    Control(#[from] ControlError),
    #[error(transparent)]
    Bfd(#[from] bfd::spec::BadInterval),
    #[error("cannot run BFD: {0}")]
    BfdThread(#[source] io::Error),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("cannot start the thread that serves HTTP: {0}")]
    HttpThread(#[source] io::Error),
    #[error(transparent)]
    HandOver(#[from] HandOverError),
    #[error(transparent)]
    Tap(#[from] TapError),
    #[error(transparent)]
    Privileges(#[from] PrivilegeError),
    #[error(transparent)]
    NeedsRestart(#[from] NeedsRestart),
    #[error("the thread that reads the configuration has ended")]
    Reading,
    #[error("{0} is reached on this machine only: it cannot be an address of a router that is a tenant")]
    Loopback(SocketAddr),
    #[error(
        "the tenant has not the ports that the agent needs: CPU ports {CPU_PORT} and {URGENT_CPU_PORT}, port {LOCAL_PORT}"
    )]
    TenantPorts,
    #[error("cannot start the agent's thread: {0}")]
    Thread(#[source] io::Error),
    #[error("the thread that forwards packets has ended: {0}")]
    Worker(String),
}
