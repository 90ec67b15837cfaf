//! What the agent's threads have in common: errors, how they stop, what they count.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use hopwright_dataplane::ControlError;
use hopwright_dataplane::wait::Wakeup;
use hopwright_host::namespace::NamespaceError;
use hopwright_ports::DeviceError;

use crate::program::ProgramError;

/// Why the agent does not start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum Error {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("the program's tables: {0}")]
    Tables(#[from] ControlError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("there is no device {0}")]
    UnknownDevice(String),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("TAP device: {0}")]
    Tap(#[source] io::Error),
    #[error("netlink: {0}")]
    Netlink(#[source] io::Error),
    #[error("no thread: {0}")]
    Thread(#[source] io::Error),
}

/// Tells threads to stop.
pub(crate) struct Stop {
    requested: AtomicBool,
    wakeup: Wakeup,
}

impl Stop {
    pub(crate) fn new() -> io::Result<Stop> {
        Ok(Stop { requested: AtomicBool::new(false), wakeup: Wakeup::new()? })
    }

    pub(crate) fn requested(&self) -> bool {
        self.requested.load(Acquire)
    }

    /// Readable from then on.
    pub(crate) fn fd(&self) -> RawFd {
        self.wakeup.as_raw_fd()
    }

    pub(crate) fn request(&self) {
        self.requested.store(true, Release);
        self.wakeup.notify();
    }
}

/// What the threads count.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub to_kernel: AtomicU64,
    pub to_kernel_lost: AtomicU64,
    pub from_kernel: AtomicU64,
    pub from_kernel_lost: AtomicU64,
    pub routes: AtomicU64,
    pub next_hops: AtomicU64,
    pub groups: AtomicU64,
    pub changes: AtomicU64,
    pub refused: AtomicU64,
    pub reloads: AtomicU64,
    pub overruns: AtomicU64,
    pub undecoded: AtomicU64,
    pub probes: AtomicU64,
    pub punted: AtomicU64,
}
