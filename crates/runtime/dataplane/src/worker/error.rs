//! Why a switch cannot be built or changed.

use std::io;
use std::time::Duration;

use crate::account::MemoryExceeded;
use crate::build_error::BuildError;
use crate::packet::PoolError;
use crate::port::{MAX_PORT, MAX_PORT_QUEUES};
use crate::worker::classifier::{MAX_TENANTS, RuleError};
use crate::worker::schedule::MAX_WEIGHT;

/// How long a worker may take to end its round.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Most changes of ports that may wait for a worker.
pub(crate) const MAX_PORT_CHANGES: usize = 2 * MAX_PORT_QUEUES;
/// Most changes that may wait for a worker: with all tenants that a switch starts with.
pub(crate) const MAX_CHANGES: usize = MAX_PORT_CHANGES + 2 * MAX_TENANTS;

/// The worker did not end its round in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the worker did not finish its round within {} seconds", PATIENCE.as_secs())]
pub struct WorkerBusy;

/// Why a switch cannot be built or changed.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// A number that v1model does not have.
    #[error("{0} is no port number: they go from 0 to {MAX_PORT}")]
    PortNumber(u32),
    /// Two ports, or a port and the CPU port, with one number.
    #[error("port number {0} is given twice")]
    PortTwice(u32),
    /// A port needs a queue in each worker.
    #[error("{ports} ports are given for {workers} workers")]
    PortsPerWorker {
        /// Given.
        ports: usize,
        /// Workers there are.
        workers: usize,
    },
    /// The program cannot run on several workers.
    #[error(transparent)]
    Workers(#[from] BuildError),
    /// No such port to take away.
    #[error("there is no port {0}")]
    NoSuchPort(u32),
    /// Too many changes of ports wait.
    #[error("the worker has not taken up earlier changes")]
    WorkerBehind,
    /// Two tenants with one name.
    #[error("there is a tenant `{0}` already")]
    TenantTwice(String),
    /// No such tenant to take away.
    #[error("there is no tenant `{0}`")]
    NoSuchTenant(String),
    /// More than [`MAX_TENANTS`].
    #[error("there are {MAX_TENANTS} tenants already")]
    TooManyTenants,
    /// No weight.
    #[error("{0} is no weight: they go from 1 to {MAX_WEIGHT}")]
    Weight(u32),
    /// A worker takes longer over a round than it should.
    #[error(transparent)]
    WorkerBusy(#[from] WorkerBusy),
    /// The tenant may not have so much memory.
    #[error(transparent)]
    Memory(#[from] MemoryExceeded),
    /// Rules that cannot be used.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// No memory for packets.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The system refused.
    #[error("cannot set up the worker: {0}")]
    Io(#[from] io::Error),
}
