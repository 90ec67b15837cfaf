//! The sockets that ports and senders share: which ones exist, which worker reads each, and which datagrams their
//! filters leave to raw ports.
//!
//! Changes are made under a lock. Ports and senders keep their own copy of the list of sockets, and compare version
//! numbers to detect that it is outdated.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::BindError;
use super::destinations::Destinations;
use super::path_mtu::PathMtus;
use crate::filter::{Filter, Pattern};
use crate::linux::sys;

/// Identifies the ICMP sockets in a worker's epoll group. Numbers of UDP sockets are smaller.
pub(super) const ICMP: u64 = u64::MAX;
/// The size of a socket's receive buffer in bytes.
const RECEIVE_BUFFER: libc::c_int = 4 << 20;
/// The size of a socket's send buffer in bytes. It is large because datagrams to a neighbour that does not answer stay
/// in it for seconds.
const SEND_BUFFER: libc::c_int = 32 << 20;

/// A device with raw ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawDevice {
    /// The device's interface index.
    pub index: u32,
    /// The device's MTU in bytes.
    pub mtu: u32,
    /// The UDP addresses whose datagrams the device's ports take.
    pub addresses: HashSet<(IpAddr, u16)>,
    /// Which of these datagrams the kernel delivers to the sockets, too.
    pub takes: Takes,
}

/// The datagrams that raw ports take and of which the kernel delivers a copy to UDP sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Takes {
    /// All datagrams to the addresses.
    All,
    /// Datagrams with a pattern. The others never reach the kernel's stack.
    Only(Pattern),
    /// Every frame, fragments included. The sockets keep what only the kernel has: reassembled datagrams.
    Frames,
    /// Nothing.
    Nothing,
}

/// The counters of ports and senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpCounts {
    /// Datagrams received and passed to the program.
    pub received: u64,
    /// Datagrams that ports passed to the kernel.
    pub sent: u64,
    /// Datagrams that senders passed to the kernel for raw ports.
    pub sent_for_raw: u64,
    /// Frames that are not UDP datagrams, or whose source address has no socket.
    pub no_socket: u64,
    /// Datagrams to forbidden destinations: the router itself, broadcast and multicast addresses, loopback addresses
    /// from other addresses.
    pub bad_destination: u64,
    /// Datagrams for which the kernel has no route, or whose device is down.
    pub unreachable: u64,
    /// Datagrams longer than the path allows, or than UDP allows.
    pub too_long: u64,
    /// Datagrams for which the kernel had no room.
    pub busy: u64,
    /// Datagrams that the kernel refused for another reason.
    pub refused: u64,
}

impl UdpCounts {
    /// The number of frames that were not sent.
    pub fn lost(&self) -> u64 {
        self.no_socket + self.bad_destination + self.unreachable + self.too_long + self.busy + self.refused
    }
}

/// The counters of one port or sender. Other threads read them.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub received: AtomicU64,
    pub sent: AtomicU64,
    pub sent_for_raw: AtomicU64,
    pub no_socket: AtomicU64,
    pub bad_destination: AtomicU64,
    pub unreachable: AtomicU64,
    pub too_long: AtomicU64,
    pub busy: AtomicU64,
    pub refused: AtomicU64,
}

/// Adds to a counter that only this thread writes.
#[inline]
pub(super) fn add(cell: &AtomicU64, count: u64) {
    cell.store(cell.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

impl Cells {
    fn add_to(&self, sum: &mut UdpCounts) {
        let get = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        sum.received += get(&self.received);
        sum.sent += get(&self.sent);
        sum.sent_for_raw += get(&self.sent_for_raw);
        sum.no_socket += get(&self.no_socket);
        sum.bad_destination += get(&self.bad_destination);
        sum.unreachable += get(&self.unreachable);
        sum.too_long += get(&self.too_long);
        sum.busy += get(&self.busy);
        sum.refused += get(&self.refused);
    }

    pub(super) fn counts(&self) -> UdpCounts {
        let mut counts = UdpCounts::default();
        self.add_to(&mut counts);
        counts
    }
}

/// A socket on an address.
#[derive(Debug)]
pub(super) struct Socket {
    socket: OwnedFd,
    pub address: SocketAddr,
    /// Unique among all sockets of this process.
    pub number: u64,
    /// Whether the socket delivers joined datagrams (the kernel's GRO).
    joins: AtomicBool,
    /// The socket's drop counter when last seen; `UNKNOWN` until the next datagram reports it.
    dropped: AtomicU64,
    /// Whether the socket's filter drops datagrams, which the drop counter includes.
    is_filtered: AtomicBool,
}

const UNKNOWN: u64 = u64::MAX;

impl Socket {
    fn bind(address: SocketAddr, number: u64) -> io::Result<Socket> {
        let socket = match UdpSocket::bind(address) {
            // Many systems limit a process to 1,024 descriptors unless it requests more.
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                sys::allow_descriptors()?;
                UdpSocket::bind(address)?
            }
            other => other?,
        };
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Socket::new(socket.into(), address, number)
    }

    /// Takes a predecessor's socket.
    fn inherited(socket: OwnedFd, number: u64) -> io::Result<Socket> {
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
        Ok(Socket { socket: fd, address, number, joins, dropped: AtomicU64::new(0), is_filtered })
    }

    /// Whether the socket delivers joined datagrams.
    pub(super) fn joins(&self) -> bool {
        self.joins.load(Ordering::Relaxed)
    }

    /// Switches joined datagrams on or off.
    fn join(&self, yes: bool) {
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

/// A version of the list of sockets.
#[derive(Clone, Debug, Default)]
pub(super) struct Sockets {
    pub version: u64,
    pub by_number: HashMap<u64, Arc<Socket>>,
    pub by_address: HashMap<(IpAddr, u16), Arc<Socket>>,
}

/// What a worker's port shares with other threads.
#[derive(Debug)]
pub(super) struct Worker {
    /// An epoll descriptor of the worker's sockets.
    pub ready: OwnedFd,
    pub destinations: Destinations,
}

/// The state that ports, senders and [`super::UdpSockets`] share.
#[derive(Debug)]
pub(super) struct Shared {
    version: AtomicU64,
    state: Mutex<State>,
    /// Replaces the file of a closed socket while others still hold its descriptor.
    nothing: OwnedFd,
    pub paths: PathMtus,
}

#[derive(Debug)]
struct State {
    sockets: Arc<Sockets>,
    next_number: u64,
    workers: Vec<Arc<Worker>>,
    raw: Vec<RawDevice>,
    /// The devices through which datagrams to an address may arrive, if not all.
    arrivals: HashMap<IpAddr, Vec<u32>>,
    /// The filters of sockets that have one, by socket number.
    filters: BTreeMap<u64, Filter>,
    /// A predecessor's sockets that have not been used yet. While there is this list, the predecessor decides about filters.
    inherited: Option<HashMap<(IpAddr, u16), OwnedFd>>,
    counters: Vec<Arc<Cells>>,
    /// The sums of the counters of dropped ports and senders.
    past: UdpCounts,
}

impl Shared {
    pub(super) fn new() -> io::Result<Shared> {
        let nothing = OwnedFd::from(std::fs::File::open("/dev/null")?);
        let state = State {
            sockets: Arc::default(),
            next_number: 0,
            workers: Vec::new(),
            raw: Vec::new(),
            arrivals: HashMap::new(),
            filters: BTreeMap::new(),
            inherited: None,
            counters: Vec::new(),
            past: UdpCounts::default(),
        };
        Ok(Shared { version: AtomicU64::new(0), state: Mutex::new(state), nothing, paths: PathMtus::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces an outdated list of sockets by the current one.
    #[inline]
    pub(super) fn refresh(&self, sockets: &mut Arc<Sockets>) {
        if self.version.load(Ordering::Acquire) != sockets.version {
            *sockets = self.state().sockets.clone();
        }
    }

    pub(super) fn bind(&self, addresses: &[SocketAddr]) -> Result<(), BindError> {
        let mut state = self.state();
        let mut sockets = Sockets::clone(&state.sockets);
        let mut new = Vec::new();
        for address in addresses {
            if address.port() != 0 && sockets.by_address.contains_key(&(address.ip(), address.port())) {
                continue;
            }
            let made = state.open(*address).map_err(|error| BindError { address: *address, error })?;
            sockets.by_number.insert(made.number, made.clone());
            sockets.by_address.insert(made.key(), made.clone());
            new.push(made);
        }
        // Done last, because nothing may fail after this.
        for (i, socket) in new.iter().enumerate() {
            if let Err(error) = state.watch(socket) {
                new[..i].iter().for_each(|socket| state.unwatch(socket));
                return Err(BindError { address: socket.address, error });
            }
        }
        self.put(&mut state, sockets);
        Ok(())
    }

    pub(super) fn close(&self, addresses: &[SocketAddr]) {
        let mut state = self.state();
        let mut sockets = Sockets::clone(&state.sockets);
        for address in addresses {
            let Some(socket) = sockets.by_address.remove(&(address.ip(), address.port())) else { continue };
            sockets.by_number.remove(&socket.number);
            state.unwatch(&socket);
            state.filters.remove(&socket.number);
            // A worker may hold the socket for a while, but its address is free now.
            let _ = sys::replace(&socket.socket, &self.nothing);
        }
        self.put(&mut state, sockets);
    }

    fn put(&self, state: &mut State, mut sockets: Sockets) {
        sockets.version += 1;
        self.version.store(sockets.version, Ordering::Release);
        state.sockets = Arc::new(sockets);
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let mut addresses: Vec<_> = self.state().sockets.by_number.values().map(|socket| socket.address).collect();
        addresses.sort_unstable();
        addresses
    }

    /// Duplicates of the sockets' descriptors, with their addresses, for a successor.
    pub(super) fn share(&self) -> io::Result<Vec<(SocketAddr, OwnedFd)>> {
        let sockets = self.state().sockets.clone();
        sockets.by_number.values().map(|socket| Ok((socket.address, socket.socket.try_clone()?))).collect()
    }

    /// Has a predecessor's sockets used instead of new ones.
    pub(super) fn inherit(&self, sockets: Vec<(SocketAddr, OwnedFd)>) {
        let by_address = sockets.into_iter().map(|(address, socket)| ((address.ip(), address.port()), socket));
        self.state().inherited = Some(by_address.collect());
    }

    /// Decides about filters from now on.
    pub(super) fn take_charge(&self) -> io::Result<()> {
        let mut state = self.state();
        state.inherited = None;
        state.filter_all()
    }

    /// Distributes the sockets over `workers` workers.
    pub(super) fn watch(&self, workers: usize) -> io::Result<Vec<Arc<Worker>>> {
        let mut state = self.state();
        let new = || Ok(Arc::new(Worker { ready: sys::poll_group(&[])?, destinations: Destinations::new() }));
        let workers: Vec<_> = (0..workers).map(|_| new()).collect::<io::Result<_>>()?;
        let sockets = state.sockets.clone();
        sockets.by_number.values().for_each(|socket| state.unwatch(socket));
        state.workers.clone_from(&workers);
        for icmp in self.paths.sockets.iter().flatten() {
            sys::poll_add(&workers[0].ready, icmp.as_raw_fd(), ICMP)?;
        }
        sockets.by_number.values().try_for_each(|socket| state.watch(socket))?;
        Ok(workers)
    }

    pub(super) fn take_destinations(&self) -> Vec<(IpAddr, u32)> {
        let state = self.state();
        let mut all = Vec::new();
        state.workers.iter().for_each(|worker| worker.destinations.take(&mut all));
        all
    }

    /// Creates the counters of a new port or sender.
    pub(super) fn cells(&self) -> Arc<Cells> {
        let cells = Arc::new(Cells::default());
        let mut state = self.state();
        state.forget_unused();
        state.counters.push(cells.clone());
        cells
    }

    pub(super) fn counts(&self) -> UdpCounts {
        let state = self.state();
        let mut sum = state.past;
        state.counters.iter().for_each(|cells| cells.add_to(&mut sum));
        sum
    }

    pub(super) fn set_raw(&self, raw: Vec<RawDevice>) -> io::Result<()> {
        let mut state = self.state();
        state.raw = raw;
        state.filter_all()
    }

    pub(super) fn set_arrivals(&self, arrivals: &[(IpAddr, Vec<u32>)]) -> io::Result<()> {
        let mut state = self.state();
        state.arrivals = arrivals.iter().cloned().collect();
        state.filter_all()
    }
}

impl State {
    /// Creates a socket with its filter.
    fn open(&mut self, address: SocketAddr) -> io::Result<Arc<Socket>> {
        let inherited = self.inherited.as_mut().and_then(|all| all.remove(&(address.ip(), address.port())));
        let socket = Arc::new(match inherited {
            Some(socket) => Socket::inherited(socket, self.next_number)?,
            None => Socket::bind(address, self.next_number)?,
        });
        self.next_number += 1;
        self.filter(&socket)?;
        Ok(socket)
    }

    fn filter_all(&mut self) -> io::Result<()> {
        let sockets = self.sockets.clone();
        sockets.by_number.values().try_for_each(|socket| self.filter(socket))
    }

    /// Sets the socket's filter: it drops what raw ports take, and what arrives through the wrong device.
    fn filter(&mut self, socket: &Socket) -> io::Result<()> {
        if self.inherited.is_some() {
            return Ok(());
        }
        let raw: Vec<_> = self.raw.iter().filter(|raw| raw.addresses.contains(&socket.key())).collect();
        let arrivals = self.arrivals.get(&socket.address.ip()).map(Vec::as_slice);
        let filter = Filter::but_raw(&raw, socket.address.is_ipv4(), arrivals).map_err(io::Error::other)?;
        // The filter sees a joined message as one packet, but its datagrams may differ in what the filter tests.
        if !raw.is_empty() {
            socket.join(false);
        }
        let before = self.filters.get(&socket.number);
        if before != filter.as_ref() {
            match &filter {
                Some(filter) => sys::attach_filter(&socket.socket, filter)?,
                None => sys::detach_filter(&socket.socket)?,
            }
            socket.is_filtered.store(filter.is_some(), Ordering::Relaxed);
            socket.dropped.store(UNKNOWN, Ordering::Relaxed);
            match filter {
                Some(filter) => drop(self.filters.insert(socket.number, filter)),
                None => drop(self.filters.remove(&socket.number)),
            }
        }
        if raw.is_empty() {
            socket.join(true);
        }
        Ok(())
    }

    fn worker_of(&self, socket: &Socket) -> Option<&Worker> {
        self.workers.get(socket.number as usize % self.workers.len().max(1)).map(|worker| &**worker)
    }

    fn watch(&self, socket: &Socket) -> io::Result<()> {
        self.worker_of(socket).map_or(Ok(()), |worker| sys::poll_add(&worker.ready, socket.fd(), socket.number))
    }

    fn unwatch(&self, socket: &Socket) {
        if let Some(worker) = self.worker_of(socket) {
            // The socket may have been closed.
            let _ = sys::poll_remove(&worker.ready, socket.fd());
        }
    }

    fn forget_unused(&mut self) {
        let State { counters, past, .. } = self;
        counters.retain(|cells| {
            let used = Arc::strong_count(cells) > 1;
            if !used {
                cells.add_to(past);
            }
            used
        });
    }
}
