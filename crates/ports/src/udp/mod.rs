//! The kernel's UDP sockets as a port: whatever the kernel can carry, the router can, too.
//!
//! A router has a socket on each of its underlay addresses. Together they are one port of a switch: to the program a
//! datagram looks like a frame, whose Ethernet, IP and UDP headers this port has built. Of a frame that the program
//! sends here, the datagram goes out by the socket on its source address. The kernel routes, resolves neighbours,
//! fragments and reassembles, on any kind of device, the loopback device included.
//!
//! Beside raw ports the sockets are the fallback: filters keep from them what raw ports take ([`crate::Opener`] sets
//! them), and [`UdpSender`] sends what raw ports cannot.

mod destinations;
mod frame;
mod messages;
mod path_mtu;
mod port;
mod sender;
mod set;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

pub use frame::{OTHERS_MAC, ROUTER_MAC};
pub use port::UdpPort;
pub use sender::UdpSender;
use set::Shared;
pub use set::{RawDevice, Takes, UdpCounts};

/// An address on which there can be no socket.
#[derive(Debug, thiserror::Error)]
#[error("cannot bind UDP address {address}: {error}")]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// Why: not this host's, taken by another process, or not permitted.
    #[source]
    pub error: io::Error,
}

/// A router's UDP sockets, one on each of its underlay addresses. Clones are handles of the same sockets, which are closed
/// with the last handle and the last port.
#[derive(Clone, Debug)]
pub struct UdpSockets(Arc<Shared>);

impl UdpSockets {
    /// No socket yet.
    pub fn new() -> io::Result<UdpSockets> {
        Ok(UdpSockets(Arc::new(Shared::new()?)))
    }

    /// Binds a socket to an address of this host; no change if there is one already. Datagrams to it come by the ports
    /// from now on.
    pub fn bind(&self, address: SocketAddr) -> Result<(), BindError> {
        self.bind_all(&[address])
    }

    /// Binds sockets to all of these addresses, or to none.
    pub fn bind_all(&self, addresses: &[SocketAddr]) -> Result<(), BindError> {
        self.0.bind(addresses)
    }

    /// Frees an address at once.
    pub fn close(&self, address: SocketAddr) {
        self.close_all(&[address]);
    }

    /// Frees addresses at once.
    pub fn close_all(&self, addresses: &[SocketAddr]) {
        self.0.close(addresses);
    }

    /// The addresses that have a socket, in order.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.addresses()
    }

    /// The switch's port, as each worker has it. A socket is read by one worker, in turn, and written by all. Ports made
    /// before receive nothing any more.
    pub fn ports(&self, workers: usize) -> io::Result<Vec<UdpPort>> {
        let workers = self.0.watch(workers.max(1))?;
        Ok(workers.into_iter().map(|worker| UdpPort::new(self.0.clone(), worker)).collect())
    }

    /// Sends frames one by one by the sockets.
    pub fn sender(&self) -> UdpSender {
        UdpSender::new(self.0.clone())
    }

    /// Where the ports have sent since the last call, and how many packets. Ports remember some thousand destinations
    /// each; if there are more, or several alike, some are missing.
    pub fn take_destinations(&self) -> Vec<(IpAddr, u32)> {
        self.0.take_destinations()
    }

    /// What ports and senders have counted.
    pub fn counts(&self) -> UdpCounts {
        self.0.counts()
    }

    /// Has sockets on some addresses take only what came by some devices, by the kernel's numbers, or the loopback device.
    /// Sockets on other addresses take what comes by any.
    pub fn set_arrivals(&self, arrivals: &[(IpAddr, Vec<u32>)]) -> io::Result<()> {
        self.0.set_arrivals(arrivals)
    }

    /// Says which devices have raw ports, so that the sockets leave to these what they take. [`crate::Opener`] does.
    pub fn set_raw(&self, raw: Vec<RawDevice>) -> io::Result<()> {
        self.0.set_raw(raw)
    }
}
