//! Why a router does not run.

use std::io;

use hopwright_agent::hand_over::{HandOverError, Panicked};
use hopwright_dataplane::offload::DeviceFault;
use hopwright_dataplane::{BuildError, ControlError};
use hopwright_host::capabilities::PrivilegeError;

use crate::control::program::{CPU_PORT, LOCAL_PORT, URGENT_CPU_PORT};
use crate::setup::SetupError;
use crate::setup::change::NeedsRestart;
use crate::status::http::HttpError;
use crate::tap::TapError;
use crate::underlay::UnderlayError;

/// The reason why the router does not run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum AgentError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("cannot read the kernel's devices and routes: {0}")]
    Netlink(#[source] io::Error),
    #[error("the hardware does not take the configuration: {0}")]
    Hardware(#[source] DeviceFault),
    #[error(transparent)]
    Underlay(#[from] UnderlayError),
    #[error("cannot load the program: {0}")]
    Program(String),
    #[error("cannot build the data plane: {0}")]
    Build(#[from] BuildError),
    #[error("cannot build the switch: {0}")]
    Switch(#[from] hopwright_dataplane::SwitchError),
    #[error("cannot program the data plane: {0}")]
    Control(#[from] ControlError),
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
    #[error(
        "the tenant has not the ports that the agent needs: CPU ports {CPU_PORT} and {URGENT_CPU_PORT}, port {LOCAL_PORT}"
    )]
    TenantPorts,
    #[error("cannot start the agent's thread: {0}")]
    Thread(#[source] io::Error),
    #[error("the thread that forwards packets has ended: {0}")]
    Worker(String),
}

impl From<Panicked> for AgentError {
    fn from(panicked: Panicked) -> AgentError {
        AgentError::Worker(panicked.to_string())
    }
}
