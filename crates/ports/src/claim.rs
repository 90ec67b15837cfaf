//! Keeping the kernel out of what a router takes.
//!
//! A packet socket gets a copy; the kernel's own stack still sees the packet. If no socket is bound to its destination
//! it answers with an ICMP "port unreachable". A claim is such a socket, with a filter that drops everything before
//! it is queued: the kernel says nothing, stores nothing, and nobody else can take the port.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;

use crate::filter::Filter;
use crate::local::LocalPort;
use crate::sys;

/// A UDP address and port the kernel neither answers nor delivers. Ends when dropped, or when the process dies.
#[derive(Debug)]
pub struct UdpClaim {
    socket: OwnedFd,
    address: SocketAddr,
}

/// An address that cannot be claimed.
#[derive(Debug, thiserror::Error)]
#[error("cannot claim UDP address {address}: {error}")]
pub struct ClaimError {
    /// The address.
    pub address: SocketAddr,
    /// Why: not this host's, taken by another process, or not permitted.
    #[source]
    pub error: io::Error,
}

impl UdpClaim {
    /// Claims an address of this host. With port 0 the system chooses one.
    ///
    /// Fragments of a datagram are put together by the kernel and then dropped here: they never reach the router.
    pub fn new(address: SocketAddr) -> Result<UdpClaim, ClaimError> {
        let claim = || {
            let socket = UdpSocket::bind(address)?;
            let address = socket.local_addr()?;
            let socket = OwnedFd::from(socket);
            sys::attach_filter(&socket, &Filter::nothing())?;
            Ok(UdpClaim { socket, address })
        };
        claim().map_err(|error| ClaimError { address, error })
    }

    /// A port for what processes of this machine send to the address and get from it. Everything else is discarded as
    /// before.
    pub fn local_port(&self) -> Result<LocalPort, ClaimError> {
        let open = || {
            let loopback = sys::interface_index("lo")?;
            sys::attach_filter(&self.socket, &Filter::from_interface(loopback as u32))?;
            LocalPort::new(UdpSocket::from(self.socket.try_clone()?))
        };
        open().map_err(|error| ClaimError { address: self.address, error })
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_kernel_neither_answers_nor_gives_the_port_away() {
        let claim = UdpClaim::new("127.0.0.1:0".parse().unwrap()).unwrap();
        let refused = UdpClaim::new(claim.address()).unwrap_err();
        assert_eq!(refused.error.kind(), io::ErrorKind::AddrInUse);
        assert!(refused.to_string().contains(&claim.address().to_string()));

        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.connect(claim.address()).unwrap();
        peer.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        // "Port unreachable" would show as ECONNREFUSED on the second call.
        for _ in 0..2 {
            peer.send(b"hello").unwrap();
            let kind = peer.recv(&mut [0; 8]).unwrap_err().kind();
            assert!(matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{kind:?}");
        }
        let address = claim.address();
        drop(claim);
        peer.send(b"hello").unwrap();
        assert_eq!(peer.recv(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        UdpClaim::new(address).unwrap();
    }
}
