//! The kernel's UDP sockets as a port: the router can use any path that the kernel can.
//!
//! A router has one socket on each of its underlay addresses. Together they are one port of the switch. The port builds
//! Ethernet, IP and UDP headers in front of each received datagram, so that the program sees a frame. When the program
//! sends a frame to this port, the socket on the frame's source address sends the datagram. The kernel routes, resolves
//! neighbours, fragments and reassembles, on any kind of device including the loopback device.
//!
//! Where there are also raw ports, the sockets are the fallback. Socket filters drop what raw ports take
//! ([`crate::Opener`] sets them), and [`UdpSender`] sends what raw ports cannot send.

mod destinations;
mod frame;
mod messages;
mod path_mtu;
mod port;
mod sender;
mod set;
mod socket;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::filter::FlowKey;
pub use frame::{OTHERS_MAC, ROUTER_MAC};
pub use port::UdpPort;
pub use sender::UdpSender;
use set::Shared;
pub use set::{RawDevice, Takes, UdpCounts};

/// The error that a socket cannot be bound to an address.
#[derive(Debug, thiserror::Error)]
#[error("cannot bind UDP address {address}: {error}")]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// The reason: not an address of this host, used by another process, or not permitted.
    #[source]
    pub error: io::Error,
}

/// A router's UDP sockets, one on each of its underlay addresses. Clones share the sockets, which are closed when the
/// last clone and the last port are dropped.
#[derive(Clone, Debug)]
pub struct UdpSockets(Arc<Shared>);

impl UdpSockets {
    /// Creates an empty set of sockets.
    pub fn new() -> io::Result<UdpSockets> {
        UdpSockets::for_workers(1, None)
    }

    /// Creates an empty set of sockets for several workers. With `flows`, each address has a socket for each worker, and the kernel
    /// distributes datagrams over them by these flows.
    pub fn for_workers(workers: usize, flows: Option<FlowKey>) -> io::Result<UdpSockets> {
        Ok(UdpSockets(Arc::new(Shared::new(workers, flows)?)))
    }

    /// Binds a socket to an address of this host, unless there is one. The ports receive datagrams to it from now on.
    pub fn bind(&self, address: SocketAddr) -> Result<(), BindError> {
        self.bind_all(&[address])
    }

    /// Binds sockets to all of these addresses, or to none if one fails.
    pub fn bind_all(&self, addresses: &[SocketAddr]) -> Result<(), BindError> {
        self.0.bind(addresses)
    }

    /// Closes the socket on an address; the address is free when this returns.
    pub fn close(&self, address: SocketAddr) {
        self.close_all(&[address]);
    }

    /// Closes the sockets on some addresses; they are free when this returns.
    pub fn close_all(&self, addresses: &[SocketAddr]) {
        self.0.close(addresses);
    }

    /// The addresses that have a socket, in ascending order.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.addresses()
    }

    /// Returns the switch's port, one part for each worker. Each socket is read by one worker; all send by one socket of an
    /// address. Ports returned by earlier calls receive nothing from now on.
    pub fn ports(&self, workers: usize) -> io::Result<Vec<UdpPort>> {
        let workers = self.0.watch(workers.max(1))?;
        Ok(workers.into_iter().map(|worker| UdpPort::new(self.0.clone(), worker)).collect())
    }

    /// Returns duplicates of the sockets' descriptors, with their addresses, for a process that takes over from this one.
    pub fn share(&self) -> io::Result<Vec<(SocketAddr, OwnedFd)>> {
        self.0.share()
    }

    /// Has these sockets of a predecessor used instead of new ones on their addresses. Their filters stay as they are until
    /// [`UdpSockets::take_charge`], and until then no port may receive. To be called while there are no sockets.
    pub fn inherit(&self, sockets: Vec<(SocketAddr, OwnedFd)>) {
        self.0.inherit(sockets);
    }

    /// Called when the predecessor has stopped. Closes those of its sockets that are not used.
    pub fn take_charge(&self) -> io::Result<()> {
        self.0.take_charge()
    }

    /// Looks for addresses to which several flows have come in one message, which one worker gets. There the order of a flow's
    /// packets would be lost, so that all packets of a sender go to one worker from now on. Returns the addresses found. To be called
    /// again and again.
    pub fn keep_joined_flows(&self) -> Vec<(SocketAddr, io::Result<()>)> {
        self.0.keep_joined_flows()
    }

    /// Returns a sender that sends frames through the sockets.
    pub fn sender(&self) -> UdpSender {
        UdpSender::new(self.0.clone())
    }

    /// Returns the destinations of the packets that the ports have sent since the last call, with packet counts. Each
    /// port remembers some thousand destinations; if there are more, some are missing.
    pub fn take_destinations(&self) -> Vec<(IpAddr, u32)> {
        self.0.take_destinations()
    }

    /// Returns the counters of all ports and senders.
    pub fn counts(&self) -> UdpCounts {
        self.0.counts()
    }

    /// Restricts sockets on some addresses to datagrams that arrive through given devices (by interface index) or the
    /// loopback device. Sockets on other addresses accept datagrams from all devices.
    pub fn set_arrivals(&self, arrivals: &[(IpAddr, Vec<u32>)]) -> io::Result<()> {
        self.0.set_arrivals(arrivals)
    }

    /// Sets which devices have raw ports, so that the sockets drop what these take. Called by [`crate::Opener`].
    pub fn set_raw(&self, raw: Vec<RawDevice>) -> io::Result<()> {
        self.0.set_raw(raw)
    }
}
