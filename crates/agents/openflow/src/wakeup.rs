//! Waiting for packets of the CPU queue, and for the kernel's notifications, in an event loop.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use hopwright_dataplane::CpuQueue;
use hopwright_host::netlink::Netlink;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Readable when packets have come.
pub(crate) fn of(queue: &CpuQueue) -> io::Result<AsyncFd<OwnedFd>> {
    readable(queue.fd())
}

/// Readable when there are notifications.
pub(crate) fn of_links(links: &Netlink) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: `links` keeps the descriptor open during the call, which duplicates it.
    readable(unsafe { BorrowedFd::borrow_raw(links.event_fd()) })
}

fn readable(descriptor: BorrowedFd<'_>) -> io::Result<AsyncFd<OwnedFd>> {
    let descriptor = descriptor.try_clone_to_owned()?;
    // SAFETY: an `OwnedFd` is the same open descriptor until it is dropped, which the `AsyncFd` does after it has taken it
    // out of the event loop.
    unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }.map_err(io::Error::other)
}
