//! The sockets that ports and senders share: which exist, which worker reads them, and which datagrams their filters
//! leave to raw ports.
//!
//! Changes are made under a lock. Ports and senders keep a list of the sockets of their own and compare a version
//! number to see that it is outdated.

use std::collections::{BTreeMap, HashMap};
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

/// The numbers of sockets are less; this is that of ICMP in a worker's group.
pub(super) const ICMP: u64 = u64::MAX;
/// Receive buffer of a socket, in bytes.
const RECEIVE_BUFFER: libc::c_int = 4 << 20;
/// Bytes that may wait in the kernel to be sent. What goes to a neighbour that does not answer waits for seconds.
const SEND_BUFFER: libc::c_int = 32 << 20;

/// A device from which raw ports take packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawDevice {
    /// The kernel's number.
    pub index: u32,
    /// Its MTU.
    pub mtu: u32,
    /// The UDP addresses whose packets its ports take.
    pub addresses: Vec<(IpAddr, u16)>,
    /// What of it the sockets would get, too.
    pub takes: Takes,
}

/// What packet sockets take, of which the kernel delivers a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Takes {
    /// All there is for the addresses.
    All,
    /// Datagrams with a pattern; the rest never reaches the kernel.
    Only(Pattern),
    /// Nothing.
    Nothing,
}

/// What became of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpCounts {
    /// Datagrams received for the program.
    pub received: u64,
    /// Datagrams handed to the kernel by ports.
    pub sent: u64,
    /// The same by senders, for raw ports.
    pub sent_for_raw: u64,
    /// Frames that are no UDP datagram, or not from an address that has a socket.
    pub no_socket: u64,
    /// Datagrams to where none may go: the router itself, broadcast, multicast, the loopback device from elsewhere.
    pub bad_destination: u64,
    /// The kernel has no route, or the way there is down.
    pub unreachable: u64,
    /// Longer than the way there takes, or than a datagram may be.
    pub too_long: u64,
    /// The kernel had no room.
    pub busy: u64,
    /// The kernel refused for another reason.
    pub refused: u64,
}

impl UdpCounts {
    /// Frames that did not leave.
    pub fn lost(&self) -> u64 {
        self.no_socket + self.bad_destination + self.unreachable + self.too_long + self.busy + self.refused
    }
}

/// The counts of one port or sender, read by others.
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

/// Adds to a count that only this thread writes.
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
    /// Datagrams come several at a time (the kernel's GRO).
    joins: AtomicBool,
    /// What it has dropped; `UNKNOWN` until the next datagram tells.
    dropped: AtomicU64,
    /// A filter is among those that drop.
    is_filtered: AtomicBool,
}

const UNKNOWN: u64 = u64::MAX;

impl Socket {
    fn bind(address: SocketAddr, number: u64) -> io::Result<Socket> {
        let socket = match UdpSocket::bind(address) {
            // Many systems let a process have 1,024 descriptors unless it asks for more.
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                sys::allow_descriptors()?;
                UdpSocket::bind(address)?
            }
            other => other?,
        };
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let fd = OwnedFd::from(socket);
        sys::set_option(&fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &(1 as libc::c_int))?;
        let receive = (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, RECEIVE_BUFFER);
        for (forced, plain, bytes) in [receive, (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, SEND_BUFFER)] {
            // Without CAP_NET_ADMIN the buffer stays within the system's limit.
            if sys::set_option(&fd, libc::SOL_SOCKET, forced, &bytes).is_err() {
                sys::set_option(&fd, libc::SOL_SOCKET, plain, &bytes)?;
            }
        }
        let (joins, is_filtered) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Socket { socket: fd, address, number, joins, dropped: AtomicU64::new(0), is_filtered })
    }

    /// Whether datagrams come several at a time.
    pub(super) fn joins(&self) -> bool {
        self.joins.load(Ordering::Relaxed)
    }

    /// Has datagrams come several at a time, or not.
    fn join(&self, yes: bool) {
        if self.joins() == yes {
            return;
        }
        // Linux 5.0 has it. Who reads must know while there may be such.
        self.joins.store(true, Ordering::Relaxed);
        let works = sys::set_option(&self.socket, libc::SOL_UDP, libc::UDP_GRO, &libc::c_int::from(yes)).is_ok();
        self.joins.store(yes && works, Ordering::Relaxed);
    }

    /// Datagrams lost since this was asked last, because nobody read fast enough: of all that the socket has dropped. Not
    /// known while a filter drops some.
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

/// The sockets there were at some time.
#[derive(Clone, Debug, Default)]
pub(super) struct Sockets {
    pub version: u64,
    pub by_number: HashMap<u64, Arc<Socket>>,
    pub by_address: HashMap<(IpAddr, u16), Arc<Socket>>,
}

/// What a worker's port and other threads share.
#[derive(Debug)]
pub(super) struct Worker {
    /// Has input when one of the worker's sockets has.
    pub ready: OwnedFd,
    pub destinations: Destinations,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Shared {
    version: AtomicU64,
    state: Mutex<State>,
    /// What closed sockets become while others still hold them.
    nothing: OwnedFd,
    pub paths: PathMtus,
}

#[derive(Debug)]
struct State {
    sockets: Arc<Sockets>,
    next_number: u64,
    workers: Vec<Arc<Worker>>,
    raw: Vec<RawDevice>,
    /// By which devices datagrams to an address may come, if not by all.
    arrivals: HashMap<IpAddr, Vec<u32>>,
    /// The filter of each socket that has one.
    filters: BTreeMap<u64, Filter>,
    counters: Vec<Arc<Cells>>,
    /// The counts of those that are gone.
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
            counters: Vec::new(),
            past: UdpCounts::default(),
        };
        Ok(Shared { version: AtomicU64::new(0), state: Mutex::new(state), nothing, paths: PathMtus::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces an outdated list by the current one.
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
        // Last, because nothing may fail from here on.
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
            // A worker may hold it for a while; the address is free now.
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

    /// Spreads the sockets over so many workers.
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

    /// New counters.
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
    /// A new socket, with its filter.
    fn open(&mut self, address: SocketAddr) -> io::Result<Arc<Socket>> {
        let socket = Arc::new(Socket::bind(address, self.next_number)?);
        self.next_number += 1;
        self.filter(&socket)?;
        Ok(socket)
    }

    fn filter_all(&mut self) -> io::Result<()> {
        let sockets = self.sockets.clone();
        sockets.by_number.values().try_for_each(|socket| self.filter(socket))
    }

    /// Sees to it that the socket leaves to raw ports what they take, and takes only what may come.
    fn filter(&mut self, socket: &Socket) -> io::Result<()> {
        let raw: Vec<_> = self.raw.iter().filter(|raw| raw.addresses.contains(&socket.key())).collect();
        let arrivals = self.arrivals.get(&socket.address.ip()).map(Vec::as_slice);
        let filter = Filter::but_raw(&raw, socket.address.is_ipv4(), arrivals).map_err(io::Error::other)?;
        // The filter sees joined datagrams as one, which need not be alike in all that it looks at.
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
            // It may be gone.
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
