//! Why an agent cannot start.

use std::io;

use crate::datapath::WrongProgram;
use crate::program::CPU_PORT;

/// Why an agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tenant's program has not the tables of `p4/router/openflow.p4`.
    #[error(transparent)]
    Program(#[from] WrongProgram),
    /// The tenant has no CPU port, or another one.
    #[error("the tenant's CPU port is to be {CPU_PORT}")]
    CpuPort,
    /// The configuration makes no sense.
    #[error("OpenFlow: {0}")]
    Config(String),
    /// An address that cannot be listened on.
    #[error("OpenFlow: cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The system refused.
    #[error("OpenFlow: {0}")]
    Io(#[from] io::Error),
    /// It cannot go on with what the running process has.
    #[error("OpenFlow: {0}")]
    TakeOver(String),
}
