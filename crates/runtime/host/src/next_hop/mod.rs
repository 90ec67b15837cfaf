//! Next-hop resolution: by which port and Ethernet address each target of an agent is reached.
//!
//! A target is a permanent link of the agent or a host that has a table entry. A target whose route leads to a resolved
//! neighbour through a device with a port of the switch is reached through that port. Every other target has the
//! *fallback* next hop, by which the kernel routes, resolves neighbours and fragments.
//!
//! Work is per event, not per target: a changed route concerns the targets within its prefix, a changed neighbour the
//! targets that have it as next hop. When an event concerns very many hosts, the resolver suspends all hosts: they have
//! the fallback next hop at once, and [`Resolver::resume_hosts`] adds them again, some per call.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use crate::netlink::{Neighbour, Netlink, Prefix, Route};

mod host_cache;

pub use host_cache::{HostCache, HostCounts};

/// How long after the last attempt the kernel is asked again to confirm a neighbour's address.
const CONFIRM: Duration = Duration::from_secs(20);
/// How long a target has the fallback next hop so that the kernel confirms its neighbour.
const DETOUR: Duration = Duration::from_millis(300);
/// Up to this many hosts with the same next hop are forgotten, rather than kept, while its address is unconfirmed.
const FEW: usize = 8;
/// Hosts that one event may concern before all hosts are suspended. Suspended hosts that one call adds again.
const MANY: usize = 1024;
/// How long hosts stay suspended if their next hop is not resolved.
const PATIENCE: Duration = Duration::from_secs(10);
/// The interval between two attempts to add suspended hosts whose next hop is not resolved.
const RETRY: Duration = Duration::from_millis(50);

/// Where frames for a target go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NextHop {
    /// Port of the switch.
    pub port: u16,
    /// Ethernet address of the next hop.
    pub dst_mac: [u8; 6],
    /// Ethernet address of the port.
    pub src_mac: [u8; 6],
    /// Bytes of IP packet that the port carries; `u32::MAX` if the kernel fragments for it.
    pub mtu: u32,
}

impl fmt::Display for NextHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.dst_mac;
        write!(f, "port {} to {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}", self.port)
    }
}

/// What must be reached. Links sort before hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target<L> {
    /// The other end of one of the agent's links.
    Link(L),
    /// A host that has an entry of its own.
    Host(IpAddr),
}

/// Where the route of a target leads, whether or not the next hop is resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Through the port of this device.
    Port(u32),
    /// To the fallback next hop.
    Fallback(FallbackReason),
}

/// Why a target has the fallback next hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FallbackReason {
    /// The target is on this machine.
    Local,
    /// There is no route.
    NoRoute,
    /// The route encapsulates packets.
    Encapsulated,
    /// The device of the route has no port.
    Device(u32),
    /// The device of the route has no carrier.
    NoCarrier(u32),
    /// The path MTU is smaller than the device's.
    PathMtu(u32),
}

impl fmt::Display for FallbackReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FallbackReason::Local => f.write_str("it is on this machine"),
            FallbackReason::NoRoute => f.write_str("there is no route to it"),
            FallbackReason::Encapsulated => f.write_str("its route encapsulates packets"),
            FallbackReason::Device(index) => write!(f, "its route leads by device {index}, which has no raw port"),
            FallbackReason::NoCarrier(index) => write!(f, "its route leads by device {index}, which has no carrier"),
            FallbackReason::PathMtu(mtu) => write!(f, "the path's MTU is {mtu}, less than the device's"),
        }
    }
}

/// Why a host was not added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdded {
    /// Its next hop is not resolved yet.
    Unresolved,
    /// It has the fallback next hop.
    Fallback(FallbackReason),
}

/// The port of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePort {
    /// The switch's number.
    pub number: u16,
    /// Ethernet address of the device.
    pub mac: [u8; 6],
    /// MTU of the device.
    pub mtu: u32,
    /// Whether the device has a carrier. Without one nothing is sent through the port: the kernel may have another
    /// route, or keep packets until the carrier returns.
    pub carrier: bool,
}

/// The state of a target.
#[derive(Debug)]
struct Destination {
    address: IpAddr,
    /// The agent's address that packets are sent from.
    source: IpAddr,
    route: Route,
    /// As it was last reported.
    next_hop: NextHop,
    /// Index in [`Resolver::hosts`], for hosts.
    place: usize,
}

/// A neighbour that targets have as next hop.
#[derive(Debug)]
struct Adjacency<L> {
    mac: Option<[u8; 6]>,
    users: BTreeSet<Target<L>>,
    /// The user that temporarily has the fallback next hop, so that the kernel confirms the address.
    detour: Option<Target<L>>,
}

/// What the resolver needs of the kernel.
pub trait Network {
    /// As [`Netlink::route`]; an error counts as no route.
    fn route(&mut self, destination: IpAddr, source: IpAddr) -> Route;
    /// As [`Netlink::neighbour`].
    fn neighbour(&self, device: u32, address: IpAddr) -> Option<Neighbour>;
    /// As [`Netlink::probe`].
    fn probe(&mut self, device: u32, address: IpAddr) -> io::Result<()>;
}

impl Network for Netlink {
    fn route(&mut self, destination: IpAddr, source: IpAddr) -> Route {
        Netlink::route(self, destination, source).unwrap_or_else(|error| {
            tracing::warn!(event = "route-lookup", %destination, %error, "route lookup failed");
            Route::Nowhere
        })
    }

    fn neighbour(&self, device: u32, address: IpAddr) -> Option<Neighbour> {
        Netlink::neighbour(self, device, address)
    }

    fn probe(&mut self, device: u32, address: IpAddr) -> io::Result<()> {
        Netlink::probe(self, device, address)
    }
}

/// Hosts without next hop that are to be added again.
#[derive(Debug)]
struct Suspended {
    /// The hosts, and the source of packets to each.
    hosts: VecDeque<(IpAddr, IpAddr)>,
    /// When to add some.
    due: Instant,
    /// When those that are left are forgotten.
    until: Instant,
}

/// What has changed since the last [`Resolver::take_changes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes<L> {
    /// All hosts were suspended; hosts in `targets` were added afterwards.
    pub no_hosts: bool,
    /// Targets whose next hop changed, and hosts that were forgotten.
    pub targets: Vec<Target<L>>,
}

/// The next hops of all targets. `L` names the agent's permanent links.
#[derive(Debug)]
pub struct Resolver<L> {
    /// Ports by device.
    ports: HashMap<u32, DevicePort>,
    /// Next hop of every target that is not reached through a port.
    fallback: NextHop,
    destinations: BTreeMap<Target<L>, Destination>,
    /// The hosts among the targets, in no order.
    hosts: Vec<IpAddr>,
    suspended: Option<Suspended>,
    adjacencies: HashMap<(u32, IpAddr), Adjacency<L>>,
    /// Neighbours whose address is to be confirmed, or whose detour ends.
    due: BTreeSet<(Instant, u32, IpAddr)>,
    /// Targets whose next hop may have changed.
    touched: BTreeSet<Target<L>>,
    no_hosts: bool,
}

impl<L: Copy + Ord> Resolver<L> {
    /// A resolver without targets; `ports` are the ports by device.
    pub fn new(ports: HashMap<u32, DevicePort>, fallback: NextHop) -> Resolver<L> {
        Resolver {
            ports,
            fallback,
            destinations: BTreeMap::new(),
            hosts: Vec::new(),
            suspended: None,
            adjacencies: HashMap::new(),
            due: BTreeSet::new(),
            touched: BTreeSet::new(),
            no_hosts: false,
        }
    }

    /// Replaces the ports by device. Addresses of neighbours that were kept though the kernel had discarded them are
    /// discarded where a device loses its carrier.
    pub fn set_ports(&mut self, ports: HashMap<u32, DevicePort>, network: &impl Network, now: Instant) {
        let before = std::mem::replace(&mut self.ports, ports);
        let differs = |device: &u32| before.get(device) != self.ports.get(device);
        let hops: Vec<_> = self.adjacencies.keys().filter(|(device, _)| differs(device)).copied().collect();
        for key in hops {
            if self.ports.get(&key.0).is_some_and(|port| !port.carrier)
                && let Some(adjacency) = self.adjacencies.get_mut(&key)
                && !matches!(network.neighbour(key.0, key.1), Some(Neighbour::Known { .. }))
            {
                adjacency.mac = None;
            }
            self.touch_users(key, now);
        }
    }

    /// Adds a target that packets from `source` are sent to. Has no effect if the target is known.
    pub fn add(
        &mut self,
        target: Target<L>,
        destination: IpAddr,
        source: IpAddr,
        network: &mut impl Network,
        now: Instant,
    ) {
        if !self.destinations.contains_key(&target) {
            let route = network.route(destination, source);
            self.insert(target, destination, source, route, network, now);
        }
    }

    /// Adds a host if a port reaches it now.
    pub fn add_host(
        &mut self,
        host: IpAddr,
        source: IpAddr,
        network: &mut impl Network,
        now: Instant,
    ) -> Result<(), NotAdded> {
        let route = network.route(host, source);
        match (plan(&self.ports, route), route) {
            (Plan::Fallback(why), _) => return Err(NotAdded::Fallback(why)),
            (Plan::Port(_), Route::Via { device, next_hop, .. })
                if matches!(network.neighbour(device, next_hop), Some(Neighbour::Known { .. })) => {}
            _ => return Err(NotAdded::Unresolved),
        }
        if !self.contains(Target::Host(host)) {
            self.insert(Target::Host(host), host, source, route, network, now);
        }
        Ok(())
    }

    fn insert(
        &mut self,
        target: Target<L>,
        destination: IpAddr,
        source: IpAddr,
        route: Route,
        network: &mut impl Network,
        now: Instant,
    ) {
        let place = self.hosts.len();
        if let Target::Host(host) = target {
            self.hosts.push(host);
        }
        self.destinations
            .insert(target, Destination { address: destination, source, route, next_hop: self.fallback, place });
        self.link(target, network, now);
        self.touched.insert(target);
    }

    /// Removes a target.
    pub fn remove(&mut self, target: Target<L>) {
        self.unlink(target);
        self.touched.remove(&target);
        let Some(destination) = self.destinations.remove(&target) else { return };
        if let Target::Host(_) = target {
            self.hosts.swap_remove(destination.place);
            if let Some(moved) = self.hosts.get(destination.place)
                && let Some(moved) = self.destinations.get_mut(&Target::Host(*moved))
            {
                moved.place = destination.place;
            }
        }
    }

    /// Forgets a host. [`Resolver::take_changes`] reports it.
    pub fn forget(&mut self, host: IpAddr) {
        self.remove(Target::Host(host));
        self.touched.insert(Target::Host(host));
    }

    /// Gives every host the fallback next hop until [`Resolver::resume_hosts`] adds it again.
    fn suspend_hosts(&mut self, now: Instant) {
        for host in std::mem::take(&mut self.hosts) {
            self.unlink(Target::Host(host));
        }
        let first_host = Target::Host(Ipv4Addr::UNSPECIFIED.into());
        let hosts = self.destinations.split_off(&first_host);
        self.touched.split_off(&first_host);
        self.no_hosts = true;
        let suspended =
            self.suspended.get_or_insert_with(|| Suspended { hosts: VecDeque::new(), due: now, until: now });
        suspended.hosts.extend(hosts.into_values().map(|destination| (destination.address, destination.source)));
        (suspended.due, suspended.until) = (now, now + PATIENCE);
    }

    /// Adds suspended hosts again that a port reaches, up to `limit` hosts in all. The work of one call is bounded;
    /// [`Resolver::deadline`] says when to call again.
    pub fn resume_hosts(&mut self, limit: usize, network: &mut impl Network, now: Instant) {
        let Some(mut suspended) = self.suspended.take_if(|suspended| suspended.due <= now) else { return };
        suspended.hosts.truncate(limit);
        let mut unresolved = 0;
        for _ in 0..MANY {
            if unresolved == FEW || self.hosts.len() >= limit {
                break;
            }
            let Some((host, source)) = suspended.hosts.pop_front() else { break };
            if self.add_host(host, source, network, now) == Err(NotAdded::Unresolved) {
                suspended.hosts.push_back((host, source));
                unresolved += 1;
            }
        }
        if unresolved > 0 {
            suspended.due = now + RETRY;
        }
        if !suspended.hosts.is_empty() && self.hosts.len() < limit && now < suspended.until {
            self.suspended = Some(suspended);
        }
    }

    /// Whether a target is known.
    pub fn contains(&self, target: Target<L>) -> bool {
        self.destinations.contains_key(&target)
    }

    /// The known hosts, in no order.
    pub fn hosts(&self) -> &[IpAddr] {
        &self.hosts
    }

    /// The next hop of a target, as of the last [`Resolver::take_changes`].
    pub fn next_hop(&self, target: Target<L>) -> NextHop {
        self.destinations.get(&target).map_or(self.fallback, |destination| destination.next_hop)
    }

    /// Where the route of a target leads.
    pub fn plan(&self, target: Target<L>) -> Plan {
        self.destinations
            .get(&target)
            .map_or(Plan::Fallback(FallbackReason::NoRoute), |destination| plan(&self.ports, destination.route))
    }

    /// Whether a target is its own next hop, because it is on a network that this machine is on.
    pub fn is_direct(&self, target: Target<L>) -> bool {
        let direct = |w: &Destination| matches!(w.route, Route::Via { next_hop, .. } if next_hop == w.address);
        self.destinations.get(&target).is_some_and(direct)
    }

    /// The devices that the routes of the targets lead to.
    pub fn devices(&self) -> BTreeSet<u32> {
        let device = |destination: &Destination| match destination.route {
            Route::Via { device, .. } => Some(device),
            _ => None,
        };
        let links = self.destinations.iter().filter(|(target, _)| !matches!(target, Target::Host(_)));
        let of_hosts = self
            .adjacencies
            .iter()
            .filter(|(_, adjacency)| !adjacency.users.is_empty())
            .map(|((device, _), _)| *device);
        links.filter_map(|(_, destination)| device(destination)).chain(of_hosts).collect()
    }

    /// Looks up every route again.
    pub fn reroute_all(&mut self, network: &mut impl Network, now: Instant) {
        if self.hosts.len() > MANY {
            self.suspend_hosts(now);
        }
        self.reroute(self.destinations.keys().copied().collect(), network, now);
    }

    /// Looks up the routes of the targets within these prefixes again.
    pub fn reroute_within(&mut self, prefixes: &[Prefix], network: &mut impl Network, now: Instant) {
        let mut concerned = BTreeSet::new();
        for prefix in prefixes {
            let (first, last) = prefix.range();
            let hosts = self.destinations.range(Target::Host(first)..=Target::Host(last)).map(|(target, _)| *target);
            concerned.extend(hosts.take(MANY + 1));
            if concerned.len() > MANY {
                self.suspend_hosts(now);
                concerned.clear();
                break;
            }
        }
        let links = self.destinations.iter().take_while(|(target, _)| !matches!(target, Target::Host(_)));
        let within = |destination: &Destination| prefixes.iter().any(|prefix| prefix.contains(destination.address));
        concerned.extend(links.filter(|(_, destination)| within(destination)).map(|(target, _)| *target));
        self.reroute(concerned.into_iter().collect(), network, now);
    }

    fn reroute(&mut self, targets: Vec<Target<L>>, network: &mut impl Network, now: Instant) {
        for target in targets {
            let Some(destination) = self.destinations.get_mut(&target) else { continue };
            let route = network.route(destination.address, destination.source);
            if route != destination.route {
                self.unlink(target);
                if let Some(destination) = self.destinations.get_mut(&target) {
                    destination.route = route;
                }
                self.link(target, network, now);
                self.touched.insert(target);
            }
        }
    }

    /// Takes on changed neighbours.
    pub fn follow_neighbours(&mut self, neighbours: &[(u32, IpAddr)], network: &mut impl Network, now: Instant) {
        for &key in neighbours {
            let Some(adjacency) = self.adjacencies.get_mut(&key) else { continue };
            let neighbour = network.neighbour(key.0, key.1);
            let mac = match neighbour {
                Some(Neighbour::Known { mac, .. }) => Some(mac),
                // The kernel collects entries that it does not use itself. Links, and hosts behind a gateway, keep the
                // address until the neighbour fails to answer.
                None if adjacency.is_shared() && network.probe(key.0, key.1).is_ok() => adjacency.mac,
                _ => None,
            };
            let changed = adjacency.mac != mac || adjacency.detour.is_some();
            adjacency.mac = mac;
            adjacency.detour = None;
            if matches!(neighbour, Some(Neighbour::Known { fresh: false, .. })) {
                self.due.insert((now, key.0, key.1));
            }
            if changed {
                self.touch_users(key, now);
            }
        }
    }

    /// When to call [`Resolver::confirm`] and [`Resolver::resume_hosts`] next.
    pub fn deadline(&self) -> Option<Instant> {
        let confirm = self.due.first().map(|(at, ..)| *at);
        let resume = self.suspended.as_ref().map(|suspended| suspended.due);
        confirm.into_iter().chain(resume).min()
    }

    /// Has the kernel confirm stale addresses. Without the privilege to probe, one user of the address has the fallback
    /// next hop for a moment, because the kernel confirms addresses that it uses itself.
    pub fn confirm(&mut self, network: &mut impl Network, now: Instant) {
        while let Some(&(at, device, address)) = self.due.first() {
            if at > now {
                break;
            }
            self.due.pop_first();
            let key = (device, address);
            let stale = matches!(network.neighbour(device, address), Some(Neighbour::Known { fresh: false, .. }));
            let Some(adjacency) = self.adjacencies.get_mut(&key) else { continue };
            if let Some(target) = adjacency.detour.take() {
                self.touched.insert(target);
                self.due.insert((now + CONFIRM, device, address));
            } else if !stale {
                // Confirmed meanwhile.
            } else if !adjacency.is_shared() {
                // The kernel reaches and confirms those that are still in use, and the host cache adds them again.
                for target in adjacency.users.clone() {
                    if let Target::Host(host) = target {
                        self.forget(host);
                    }
                }
            } else if network.probe(device, address).is_ok() {
                self.due.insert((now + CONFIRM, device, address));
            } else if let Some(target) = adjacency.users.first().copied() {
                adjacency.detour = Some(target);
                self.touched.insert(target);
                self.due.insert((now + DETOUR, device, address));
            }
        }
    }

    /// The changes since the last call.
    pub fn take_changes(&mut self) -> Changes<L> {
        let no_hosts = std::mem::take(&mut self.no_hosts);
        let mut targets = Vec::new();
        for target in std::mem::take(&mut self.touched) {
            let Some(destination) = self.destinations.get(&target) else {
                targets.push(target);
                continue;
            };
            let next_hop = self.next_hop_now(target, destination);
            if next_hop == destination.next_hop {
                continue;
            }
            targets.push(target);
            // A host with the fallback next hop needs no entry.
            if next_hop == self.fallback && matches!(target, Target::Host(_)) {
                self.remove(target);
            } else if let Some(destination) = self.destinations.get_mut(&target) {
                destination.next_hop = next_hop;
            }
        }
        Changes { no_hosts, targets }
    }

    fn next_hop_now(&self, target: Target<L>, destination: &Destination) -> NextHop {
        let Plan::Port(device) = plan(&self.ports, destination.route) else { return self.fallback };
        let adjacency = adjacency_key(destination)
            .and_then(|key| self.adjacencies.get(&key))
            .filter(|adjacency| adjacency.detour != Some(target));
        match (adjacency.and_then(|adjacency| adjacency.mac), self.ports.get(&device)) {
            (Some(dst_mac), Some(port)) => NextHop { port: port.number, dst_mac, src_mac: port.mac, mtu: port.mtu },
            _ => self.fallback,
        }
    }

    /// Makes a target a user of its next hop.
    fn link(&mut self, target: Target<L>, network: &impl Network, now: Instant) {
        let Some(key) = self.destinations.get(&target).and_then(adjacency_key) else { return };
        let adjacency = self.adjacencies.entry(key).or_insert_with(|| {
            let mut adjacency = Adjacency { mac: None, users: BTreeSet::new(), detour: None };
            if let Some(Neighbour::Known { mac, fresh }) = network.neighbour(key.0, key.1) {
                adjacency.mac = Some(mac);
                // The kernel has just reached this host and confirms the address within a few seconds.
                let later = if matches!(target, Target::Host(_)) { CONFIRM } else { Duration::ZERO };
                if !fresh {
                    self.due.insert((now + later, key.0, key.1));
                }
            }
            adjacency
        });
        adjacency.users.insert(target);
    }

    fn unlink(&mut self, target: Target<L>) {
        let Some(key) = self.destinations.get(&target).and_then(adjacency_key) else { return };
        let Some(adjacency) = self.adjacencies.get_mut(&key) else { return };
        adjacency.users.remove(&target);
        if adjacency.users.is_empty() {
            self.adjacencies.remove(&key);
        } else if adjacency.detour == Some(target) {
            adjacency.detour = None;
        }
    }

    fn touch_users(&mut self, key: (u32, IpAddr), now: Instant) {
        let Some(adjacency) = self.adjacencies.get(&key) else { return };
        if adjacency.users.len() > MANY && self.hosts.len() > MANY {
            self.suspend_hosts(now);
        }
        if let Some(adjacency) = self.adjacencies.get(&key) {
            self.touched.extend(&adjacency.users);
        }
    }
}

impl<L: Ord> Adjacency<L> {
    /// Whether to keep its address while unconfirmed: links use it, or many hosts. Links sort before hosts.
    fn is_shared(&self) -> bool {
        self.users.len() > FEW || self.users.first().is_some_and(|target| !matches!(target, Target::Host(_)))
    }
}

fn plan(ports: &HashMap<u32, DevicePort>, route: Route) -> Plan {
    Plan::Fallback(match route {
        Route::Via { device, mtu, .. } => match (ports.get(&device), mtu) {
            (None, _) => FallbackReason::Device(device),
            (Some(port), _) if !port.carrier => FallbackReason::NoCarrier(device),
            (Some(port), Some(mtu)) if mtu < port.mtu => FallbackReason::PathMtu(mtu),
            _ => return Plan::Port(device),
        },
        Route::Here => FallbackReason::Local,
        Route::Nowhere => FallbackReason::NoRoute,
        Route::Encapsulated => FallbackReason::Encapsulated,
    })
}

fn adjacency_key(destination: &Destination) -> Option<(u32, IpAddr)> {
    match destination.route {
        Route::Via { device, next_hop, .. } => Some((device, next_hop)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
