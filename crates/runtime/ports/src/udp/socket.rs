//! A UDP socket on an address of the router. Several may share the address.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::filter::{Filter, FlowHash, JoinedFlows};
use crate::linux::sys;

/// The size of a socket's receive buffer in bytes.
const RECEIVE_BUFFER: libc::c_int = 4 << 20;
/// The size of a socket's send buffer in bytes. It is large because datagrams to a neighbour that does not answer stay
/// in it for seconds.
const SEND_BUFFER: libc::c_int = 32 << 20;

/// A socket on an address.
#[derive(Debug)]
pub(super) struct Socket {
    pub socket: OwnedFd,
    pub address: SocketAddr,
    /// Unique among all sockets of this process.
    pub number: u64,
    /// Which worker reads the socket, modulo the number of workers.
    pub turn: u64,
    /// If several sockets share the address, by the flows of their datagrams.
    pub flows: Option<Arc<JoinedFlows>>,
    /// Whether the socket delivers joined datagrams (the kernel's GRO).
    joins: AtomicBool,
    /// The socket's drop counter when last seen; `UNKNOWN` until the next datagram reports it.
    dropped: AtomicU64,
    /// Whether the socket's filter drops datagrams, which the drop counter includes.
    is_filtered: AtomicBool,
}

const UNKNOWN: u64 = u64::MAX;

impl Socket {
    pub(super) fn bind(address: SocketAddr, number: u64) -> io::Result<Socket> {
        let socket = with_descriptors(|| UdpSocket::bind(address))?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Socket::new(socket.into(), address, number)
    }

    /// Takes a predecessor's socket.
    pub(super) fn inherited(socket: OwnedFd, number: u64) -> io::Result<Socket> {
        let socket = UdpSocket::from(socket);
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let socket = Socket::new(socket.into(), address, number)?;
        let joins = sys::get_flag(&socket.socket, libc::SOL_UDP, libc::UDP_GRO).unwrap_or(false);
        socket.joins.store(joins, Ordering::Relaxed);
        socket.dropped.store(UNKNOWN, Ordering::Relaxed);
        Ok(socket)
    }

    fn new(fd: OwnedFd, address: SocketAddr, number: u64) -> io::Result<Socket> {
        sys::set_option(&fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &(1 as libc::c_int))?;
        let receive = (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, RECEIVE_BUFFER);
        for (forced, plain, bytes) in [receive, (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, SEND_BUFFER)] {
            // Without CAP_NET_ADMIN, the buffer is limited by the system's maximum.
            if sys::set_option(&fd, libc::SOL_SOCKET, forced, &bytes).is_err() {
                sys::set_option(&fd, libc::SOL_SOCKET, plain, &bytes)?;
            }
        }
        let (joins, is_filtered) = (AtomicBool::new(false), AtomicBool::new(false));
        let dropped = AtomicU64::new(0);
        Ok(Socket { socket: fd, address, number, turn: number, flows: None, joins, dropped, is_filtered })
    }

    /// Binds another socket to the address, which shares its datagrams once [`Socket::distribute`] says how.
    pub(super) fn beside(&self, number: u64, turn: u64) -> io::Result<Socket> {
        let socket = with_descriptors(|| sys::bind_beside(&self.socket))?;
        Ok(Socket { turn, flows: self.flows.clone(), ..Socket::new(socket, self.address, number)? })
    }

    /// Has datagrams distributed by flow over the sockets that share the address. There are `count` of them.
    pub(super) fn distribute(&self, hash: &FlowHash, count: usize) -> io::Result<()> {
        sys::set_socket_program(&self.socket, &hash.among_sockets(count as u32))
    }

    /// Sets the socket's filter; `None` passes everything.
    pub(super) fn set_filter(&self, filter: Option<&Filter>) -> io::Result<()> {
        match filter {
            Some(filter) => sys::attach_filter(&self.socket, filter)?,
            None => sys::detach_filter(&self.socket)?,
        }
        self.is_filtered.store(filter.is_some(), Ordering::Relaxed);
        self.dropped.store(UNKNOWN, Ordering::Relaxed);
        Ok(())
    }

    /// If several sockets share the address, looks for joined datagrams of several flows.
    #[inline]
    pub(super) fn flows(&self) -> Option<&JoinedFlows> {
        self.flows.as_deref()
    }

    /// Whether the socket delivers joined datagrams.
    pub(super) fn joins(&self) -> bool {
        self.joins.load(Ordering::Relaxed)
    }

    /// Switches joined datagrams on or off.
    pub(super) fn join(&self, yes: bool) {
        if self.joins() == yes {
            return;
        }
        // Supported since Linux 5.0. The flag is set first, so that readers expect joined datagrams as soon as they can
        // arrive.
        self.joins.store(true, Ordering::Relaxed);
        let works = sys::set_option(&self.socket, libc::SOL_UDP, libc::UDP_GRO, &libc::c_int::from(yes)).is_ok();
        self.joins.store(yes && works, Ordering::Relaxed);
    }

    /// Returns how many datagrams have been lost since the last call because nobody read them fast enough. `dropped` is
    /// the socket's drop counter. Returns 0 while a filter drops some, because these cannot be told apart.
    pub(super) fn overrun(&self, dropped: u32) -> u64 {
        let before = self.dropped.load(Ordering::Relaxed);
        if before == u64::from(dropped) {
            return 0;
        }
        self.dropped.store(dropped.into(), Ordering::Relaxed);
        if before == UNKNOWN || self.is_filtered.load(Ordering::Relaxed) {
            return 0;
        }
        u64::from(dropped.wrapping_sub(before as u32))
    }

    pub(super) fn key(&self) -> (IpAddr, u16) {
        (self.address.ip(), self.address.port())
    }

    pub(super) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Makes a descriptor. Many systems limit a process to 1,024 descriptors unless it requests more.
fn with_descriptors<T>(make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match make() {
        Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
            sys::allow_descriptors()?;
            make()
        }
        other => other,
    }
}
