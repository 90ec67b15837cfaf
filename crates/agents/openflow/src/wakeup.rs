//! Waiting for packets of the CPU queue in an event loop.

use std::io;
use std::os::fd::OwnedFd;

use hopwright_dataplane::CpuQueue;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Readable when packets have come.
pub(crate) fn of(queue: &CpuQueue) -> io::Result<AsyncFd<OwnedFd>> {
    let descriptor = queue.fd().try_clone_to_owned()?;
    // SAFETY: an `OwnedFd` is the same open descriptor until it is dropped, which the `AsyncFd` does after it has taken it
    // out of the event loop.
    unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }.map_err(io::Error::other)
}
