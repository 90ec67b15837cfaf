//! The sockets that ports and senders share: which ones exist, which worker reads each, and which datagrams their
//! filters leave to raw ports.
//!
//! Changes are made under a lock. Ports and senders keep their own copy of the list of sockets, and compare version
//! numbers to detect that it is outdated.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::BindError;
use super::destinations::Destinations;
use super::path_mtu::PathMtus;
use super::socket::Socket;
use crate::filter::{Filter, FlowHash, FlowKey, JoinedFlows, Pattern};
use crate::linux::sys;

/// Identifies the ICMP sockets in a worker's epoll group. Numbers of UDP sockets are smaller.
pub(super) const ICMP: u64 = u64::MAX;
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

/// A version of the list of sockets.
#[derive(Clone, Debug, Default)]
pub(super) struct Sockets {
    pub version: u64,
    pub by_number: HashMap<u64, Arc<Socket>>,
    /// The socket that sends from an address: the first of those that share it.
    pub by_address: HashMap<(IpAddr, u16), Arc<Socket>>,
    /// The others, in the order in which they were bound.
    beside: HashMap<(IpAddr, u16), Vec<Arc<Socket>>>,
}

impl Sockets {
    /// Adds the sockets of an address.
    fn add(&mut self, sockets: &[Arc<Socket>]) {
        for socket in sockets {
            self.by_number.insert(socket.number, socket.clone());
            match self.by_address.entry(socket.key()) {
                Entry::Vacant(first) => {
                    first.insert(socket.clone());
                }
                Entry::Occupied(_) => self.beside.entry(socket.key()).or_default().push(socket.clone()),
            }
        }
    }

    /// Removes the sockets of an address, and returns them.
    fn remove(&mut self, key: (IpAddr, u16)) -> Vec<Arc<Socket>> {
        let beside = self.beside.remove(&key).unwrap_or_default();
        let group: Vec<_> = self.by_address.remove(&key).into_iter().chain(beside).collect();
        group.iter().for_each(|socket| drop(self.by_number.remove(&socket.number)));
        group
    }

    /// The number of sockets that share an address.
    fn sharing(&self, key: (IpAddr, u16)) -> usize {
        1 + self.beside.get(&key).map_or(0, Vec::len)
    }
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
    /// The number of sockets that share each address, and how they share its datagrams.
    members: usize,
    flows: Option<FlowHash>,
    /// The devices through which datagrams to an address may arrive, if not all.
    arrivals: HashMap<IpAddr, Vec<u32>>,
    /// The filters of sockets that have one, by socket number.
    filters: BTreeMap<u64, Filter>,
    /// A predecessor's sockets that have not been used yet. While there is this list, the predecessor decides about filters.
    inherited: Option<HashMap<(IpAddr, u16), Vec<OwnedFd>>>,
    counters: Vec<Arc<Cells>>,
    /// The sums of the counters of dropped ports and senders.
    past: UdpCounts,
}

impl Shared {
    pub(super) fn new(members: usize, flows: Option<FlowKey>) -> io::Result<Shared> {
        let nothing = OwnedFd::from(std::fs::File::open("/dev/null")?);
        let state = State {
            sockets: Arc::default(),
            next_number: 0,
            workers: Vec::new(),
            raw: Vec::new(),
            members: members.max(1),
            flows: flows.filter(|_| members > 1).map(FlowHash::new),
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
            sockets.add(&made);
            new.extend(made);
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
            for socket in sockets.remove((address.ip(), address.port())) {
                state.unwatch(&socket);
                state.filters.remove(&socket.number);
                // A worker may hold the socket for a while, but its address is free now.
                let _ = sys::replace(&socket.socket, &self.nothing);
            }
        }
        self.put(&mut state, sockets);
    }

    fn put(&self, state: &mut State, mut sockets: Sockets) {
        sockets.version += 1;
        self.version.store(sockets.version, Ordering::Release);
        state.sockets = Arc::new(sockets);
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let mut addresses: Vec<_> = self.state().sockets.by_address.values().map(|socket| socket.address).collect();
        addresses.sort_unstable();
        addresses
    }

    /// Duplicates of the sockets' descriptors, with their addresses, for a successor; those that share an address in their order.
    pub(super) fn share(&self) -> io::Result<Vec<(SocketAddr, OwnedFd)>> {
        let sockets = self.state().sockets.clone();
        let mut all: Vec<_> = sockets.by_number.values().collect();
        all.sort_unstable_by_key(|socket| socket.number);
        all.into_iter().map(|socket| Ok((socket.address, socket.socket.try_clone()?))).collect()
    }

    /// Has a predecessor's sockets used instead of new ones.
    pub(super) fn inherit(&self, sockets: Vec<(SocketAddr, OwnedFd)>) {
        let mut by_address: HashMap<_, Vec<OwnedFd>> = HashMap::new();
        for (address, socket) in sockets {
            by_address.entry((address.ip(), address.port())).or_default().push(socket);
        }
        self.state().inherited = Some(by_address);
    }

    /// Decides about filters from now on.
    pub(super) fn take_charge(&self) -> io::Result<()> {
        let mut state = self.state();
        state.inherited = None;
        if state.flows.is_some() {
            // The predecessor may have had fewer workers.
            let mut sockets = Sockets::clone(&state.sockets);
            for first in state.sockets.clone().by_address.values() {
                let added = state.complete(first, sockets.sharing(first.key()))?;
                added.iter().try_for_each(|socket| state.watch(socket))?;
                sockets.add(&added);
            }
            self.put(&mut state, sockets);
        }
        state.filter_all()
    }

    /// Distributes datagrams by sender instead of by flow on addresses where several flows have come in one message.
    pub(super) fn keep_joined_flows(&self) -> Vec<(SocketAddr, io::Result<()>)> {
        let sockets = self.state().sockets.clone();
        let found = sockets.by_address.values().filter(|socket| socket.flows().is_some_and(JoinedFlows::take));
        found.map(|socket| (socket.address, sys::detach_socket_program(&socket.socket))).collect()
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
    /// Creates the sockets of an address, with their filters.
    fn open(&mut self, address: SocketAddr) -> io::Result<Vec<Arc<Socket>>> {
        let inherited = self.inherited.as_mut().and_then(|all| all.remove(&(address.ip(), address.port())));
        let mut sockets: Vec<Socket> = match inherited {
            Some(sockets) => {
                let numbered = (self.next_number..).zip(sockets);
                numbered.map(|(number, socket)| Socket::inherited(socket, number)).collect::<io::Result<_>>()?
            }
            None => vec![Socket::bind(address, self.next_number)?],
        };
        self.next_number += sockets.len() as u64;
        if let Some(hash) = &self.flows {
            let flows = Arc::new(JoinedFlows::new(hash.clone()));
            for (turn, socket) in (0..).zip(&mut sockets) {
                (socket.turn, socket.flows) = (turn, Some(flows.clone()));
            }
        }
        let mut sockets: Vec<_> = sockets.into_iter().map(Arc::new).collect();
        if let [first] = &sockets[..]
            && self.inherited.is_none()
        {
            let first = first.clone();
            sockets.extend(self.complete(&first, 1)?);
        }
        sockets.iter().try_for_each(|socket| self.filter(socket))?;
        Ok(sockets)
    }

    /// Binds further sockets to an address that `there` sockets have, so that each worker has one, and has the kernel distribute
    /// datagrams over all of them by flow. If there are no descriptors for all, fewer sockets do.
    fn complete(&mut self, first: &Arc<Socket>, there: usize) -> io::Result<Vec<Arc<Socket>>> {
        let Some(hash) = &self.flows else { return Ok(Vec::new()) };
        if there >= self.members || sys::share_address(&first.socket).is_err() {
            return Ok(Vec::new());
        }
        let mut added = Vec::new();
        for turn in there..self.members {
            let Ok(socket) = first.beside(self.next_number, turn as u64) else { break };
            self.next_number += 1;
            added.push(Arc::new(socket));
        }
        if !added.is_empty() {
            first.distribute(hash, there + added.len())?;
        }
        Ok(added)
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
            socket.set_filter(filter.as_ref())?;
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
        self.workers.get(socket.turn as usize % self.workers.len().max(1)).map(|worker| &**worker)
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
