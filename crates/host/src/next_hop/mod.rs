//! Next-hop resolution: by which port and Ethernet address each target of an agent is reached.
//!
//! A target is a permanent link of the agent or a host that has a table entry. A target whose route leads to a resolved
//! neighbour through a device with a port of the switch is reached through that port. Every other target has the
//! *fallback* next hop, by which the kernel routes, resolves neighbours and fragments.
//!
//! Work is per event, not per target: a changed route concerns the targets within its prefix, a changed neighbour the
//! targets that have it as next hop. When an event concerns very many hosts, the resolver forgets all hosts;
//! [`HostCache`] adds them again as they are used.

use std::collections::{BTreeMap, BTreeSet, HashMap};
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
/// Hosts that one event may concern before all hosts are forgotten.
const MANY: usize = 1024;

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
            tracing::warn!(%destination, %error, "route lookup failed");
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

/// What has changed since the last [`Resolver::take_changes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes<L> {
    /// All hosts were forgotten; hosts in `targets` were added afterwards.
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
            adjacencies: HashMap::new(),
            due: BTreeSet::new(),
            touched: BTreeSet::new(),
            no_hosts: false,
        }
    }

    /// Replaces the ports by device. Addresses of neighbours that were kept though the kernel had discarded them are
    /// discarded where a device loses its carrier.
    pub fn set_ports(&mut self, ports: HashMap<u32, DevicePort>, network: &impl Network) {
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
            self.touch_users(key);
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

    /// Forgets every host.
    pub fn forget_hosts(&mut self) {
        for host in std::mem::take(&mut self.hosts) {
            self.unlink(Target::Host(host));
        }
        let first_host = Target::Host(Ipv4Addr::UNSPECIFIED.into());
        self.destinations.split_off(&first_host);
        self.touched.split_off(&first_host);
        self.no_hosts = true;
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
            self.forget_hosts();
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
                self.forget_hosts();
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
                self.touch_users(key);
            }
        }
    }

    /// When to call [`Resolver::confirm`] next.
    pub fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, ..)| *at)
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

    fn touch_users(&mut self, key: (u32, IpAddr)) {
        let Some(adjacency) = self.adjacencies.get(&key) else { return };
        if adjacency.users.len() > MANY && self.hosts.len() > MANY {
            self.forget_hosts();
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
mod tests {
    use super::*;

    /// A network of one device. Hosts and gateways are told by the third byte of the address.
    struct Fake {
        route: Route,
        neighbours: HashMap<(u32, IpAddr), Neighbour>,
        routes_asked: usize,
        probes: Vec<IpAddr>,
        may_probe: bool,
    }

    impl Network for Fake {
        fn route(&mut self, _destination: IpAddr, _source: IpAddr) -> Route {
            self.routes_asked += 1;
            self.route
        }

        fn neighbour(&self, device: u32, address: IpAddr) -> Option<Neighbour> {
            self.neighbours.get(&(device, address)).copied()
        }

        fn probe(&mut self, _device: u32, address: IpAddr) -> io::Result<()> {
            if !self.may_probe {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            self.probes.push(address);
            Ok(())
        }
    }

    impl Fake {
        /// A neighbour is known, stale or (`None`) not known any more, and the resolver hears of it.
        fn set(
            &mut self,
            resolver: &mut Resolver<u16>,
            key: (u32, IpAddr),
            neighbour: Option<Neighbour>,
            now: Instant,
        ) -> Changes<u16> {
            match neighbour {
                Some(neighbour) => self.neighbours.insert(key, neighbour),
                None => self.neighbours.remove(&key),
            };
            resolver.follow_neighbours(&[key], self, now);
            resolver.confirm(self, now);
            resolver.take_changes()
        }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    const FALLBACK: NextHop = NextHop { port: 509, dst_mac: [0; 6], src_mac: [0; 6], mtu: u32::MAX };
    const MAC: [u8; 6] = [9; 6];
    const KNOWN: Neighbour = Neighbour::Known { mac: MAC, fresh: true };
    const STALE: Neighbour = Neighbour::Known { mac: MAC, fresh: false };
    const BY_PORT: NextHop = NextHop { port: 3, dst_mac: MAC, src_mac: [2; 6], mtu: 1500 };
    const PORT: DevicePort = DevicePort { number: 3, mac: [2; 6], mtu: 1500, carrier: true };
    const LINK: Target<u16> = Target::Link(5);

    fn gateway() -> (u32, IpAddr) {
        (7, ip("10.0.0.254"))
    }

    fn setting() -> (Resolver<u16>, Fake, Instant) {
        let (device, next_hop) = gateway();
        let fake = Fake {
            route: Route::Via { device, next_hop, mtu: None },
            neighbours: HashMap::new(),
            routes_asked: 0,
            probes: vec![],
            may_probe: true,
        };
        (Resolver::new([(7, PORT)].into(), FALLBACK), fake, Instant::now())
    }

    fn changed(targets: &[Target<u16>]) -> Changes<u16> {
        Changes { no_hosts: false, targets: targets.to_vec() }
    }

    #[test]
    fn the_kernel_has_a_link_until_its_next_hop_is_known() {
        let (mut resolver, mut net, now) = setting();
        resolver.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        assert_eq!(resolver.take_changes(), changed(&[]));
        assert_eq!(resolver.next_hop(LINK), FALLBACK);
        assert_eq!(resolver.plan(LINK), Plan::Port(7));

        assert_eq!(net.set(&mut resolver, gateway(), Some(KNOWN), now), changed(&[LINK]));
        assert_eq!(resolver.next_hop(LINK), BY_PORT);
        // It has another address now.
        let moved = Neighbour::Known { mac: [8; 6], fresh: true };
        assert_eq!(net.set(&mut resolver, gateway(), Some(moved), now), changed(&[LINK]));
        assert_eq!(resolver.next_hop(LINK), NextHop { dst_mac: [8; 6], ..BY_PORT });
        // Tidied up by the kernel: kept, and asked for.
        assert_eq!(net.set(&mut resolver, gateway(), None, now), changed(&[]));
        assert_eq!(net.probes, [gateway().1]);
        // No answer: the kernel asks with each packet.
        assert_eq!(net.set(&mut resolver, gateway(), Some(Neighbour::Failed), now), changed(&[LINK]));
        assert_eq!(resolver.next_hop(LINK), FALLBACK);
        // Whoever may not ask leaves it to the kernel at once.
        net.may_probe = false;
        net.set(&mut resolver, gateway(), Some(KNOWN), now);
        assert_eq!(net.set(&mut resolver, gateway(), None, now), changed(&[LINK]));
        assert_eq!(resolver.next_hop(LINK), FALLBACK);
    }

    #[test]
    fn unconfirmed_addresses_are_used_and_confirmed() {
        let (mut resolver, mut net, now) = setting();
        net.neighbours.insert(gateway(), STALE);
        resolver.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        assert_eq!(resolver.take_changes(), changed(&[LINK]));
        let mut probes_after = |wait: Duration| {
            resolver.confirm(&mut net, now + wait);
            assert_eq!(resolver.take_changes(), changed(&[]));
            net.probes.len()
        };
        assert_eq!(probes_after(Duration::ZERO), 1);
        assert_eq!(probes_after(Duration::from_secs(1)), 1);
        assert_eq!(probes_after(CONFIRM), 2);
        // It has been confirmed.
        net.set(&mut resolver, gateway(), Some(KNOWN), now + CONFIRM);
        resolver.confirm(&mut net, now + 3 * CONFIRM);
        assert_eq!((net.probes.len(), resolver.deadline()), (2, None));
    }

    /// Without the privilege to probe, packets of one link go by the kernel for a moment.
    #[test]
    fn the_kernel_confirms_addresses_that_it_uses() {
        let (mut resolver, mut net, now) = setting();
        net.may_probe = false;
        net.neighbours.insert(gateway(), STALE);
        let other = Target::Link(6);
        for target in [LINK, other] {
            resolver.add(target, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        }
        resolver.confirm(&mut net, now);
        assert_eq!(resolver.take_changes(), changed(&[other]));
        assert_eq!((resolver.next_hop(LINK), resolver.next_hop(other)), (FALLBACK, BY_PORT));
        assert_eq!(resolver.deadline(), Some(now + DETOUR));
        resolver.confirm(&mut net, now + DETOUR);
        assert_eq!(resolver.take_changes(), changed(&[LINK]));
        assert_eq!(resolver.next_hop(LINK), BY_PORT);
        // Once more, if that was too short; and if it is confirmed meanwhile the loan ends.
        resolver.confirm(&mut net, now + DETOUR + CONFIRM);
        assert_eq!(resolver.take_changes(), changed(&[LINK]));
        assert_eq!(net.set(&mut resolver, gateway(), Some(KNOWN), now + DETOUR + CONFIRM), changed(&[LINK]));
        assert_eq!(resolver.next_hop(LINK), BY_PORT);
    }

    #[test]
    fn routes_are_followed() {
        let (mut resolver, mut net, now) = setting();
        net.neighbours.insert(gateway(), KNOWN);
        resolver.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        resolver.take_changes();
        net.route = Route::Nowhere;
        // Another route has changed: nobody asks for ours.
        let prefix = |address: &str, length| Prefix { address: ip(address), length };
        net.routes_asked = 0;
        resolver.reroute_within(&[prefix("10.2.0.0", 16), prefix("fd00::", 8)], &mut net, now);
        assert_eq!((net.routes_asked, resolver.take_changes()), (0, changed(&[])));
        resolver.reroute_within(&[prefix("10.0.0.0", 8)], &mut net, now);
        assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[LINK]), FALLBACK));
        assert_eq!(resolver.plan(LINK), Plan::Fallback(FallbackReason::NoRoute));
        assert!(resolver.devices().is_empty());
        for (route, plan) in [
            (Route::Here, Plan::Fallback(FallbackReason::Local)),
            (Route::Encapsulated, Plan::Fallback(FallbackReason::Encapsulated)),
            (Route::Via { device: 8, next_hop: gateway().1, mtu: None }, Plan::Fallback(FallbackReason::Device(8))),
            (
                Route::Via { device: 7, next_hop: gateway().1, mtu: Some(1400) },
                Plan::Fallback(FallbackReason::PathMtu(1400)),
            ),
        ] {
            net.route = route;
            resolver.reroute_all(&mut net, now);
            assert_eq!((resolver.take_changes(), resolver.plan(LINK)), (changed(&[]), plan));
        }
        net.route = Route::Via { device: 7, next_hop: gateway().1, mtu: Some(1500) };
        resolver.reroute_all(&mut net, now);
        assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[LINK]), BY_PORT));
    }

    #[test]
    fn devices_come_and_go() {
        let (mut resolver, mut net, now) = setting();
        net.neighbours.insert(gateway(), KNOWN);
        resolver.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        resolver.take_changes();
        resolver.set_ports(HashMap::new(), &net);
        assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[LINK]), FALLBACK));
        assert_eq!((resolver.plan(LINK), resolver.devices()), (Plan::Fallback(FallbackReason::Device(7)), [7].into()));
        // With another Ethernet address.
        resolver.set_ports([(7, DevicePort { mac: [5; 6], ..PORT })].into(), &net);
        assert_eq!(
            (resolver.take_changes(), resolver.next_hop(LINK)),
            (changed(&[LINK]), NextHop { src_mac: [5; 6], ..BY_PORT })
        );
        resolver.set_ports([(7, DevicePort { mac: [5; 6], ..PORT }), (8, PORT)].into(), &net);
        assert_eq!(resolver.take_changes(), changed(&[]));
    }

    /// Without a carrier the kernel has the packets, which may keep them; afterwards it resolves the neighbour again.
    #[test]
    fn carriers_come_and_go() {
        let (mut resolver, mut net, now) = setting();
        net.neighbours.insert(gateway(), KNOWN);
        resolver.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        resolver.take_changes();
        // The kernel discards the neighbour; for all that is known it was merely not in use.
        assert_eq!(net.set(&mut resolver, gateway(), None, now), changed(&[]));
        resolver.set_ports([(7, DevicePort { carrier: false, ..PORT })].into(), &net);
        assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[LINK]), FALLBACK));
        assert_eq!(resolver.plan(LINK), Plan::Fallback(FallbackReason::NoCarrier(7)));
        resolver.set_ports([(7, PORT)].into(), &net);
        assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[]), FALLBACK));
        assert_eq!(net.set(&mut resolver, gateway(), Some(KNOWN), now), changed(&[LINK]));
        assert_eq!(resolver.next_hop(LINK), BY_PORT);
        // An entry that the kernel keeps, a permanent one for example, is still good.
        resolver.set_ports([(7, DevicePort { carrier: false, ..PORT })].into(), &net);
        assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[LINK]), FALLBACK));
        resolver.set_ports([(7, PORT)].into(), &net);
        assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[LINK]), BY_PORT));
    }

    #[test]
    fn hosts_with_ways_of_their_own() {
        let (mut resolver, mut net, now) = setting();
        let (own, host) = (ip("10.0.0.1"), ip("10.0.0.5"));
        let (target, key) = (Target::Host(host), (7, host));
        net.route = Route::Via { device: 7, next_hop: host, mtu: None };
        assert_eq!(resolver.add_host(host, own, &mut net, now), Err(NotAdded::Unresolved));
        assert_eq!(resolver.take_changes(), changed(&[]));
        assert!(resolver.hosts().is_empty());
        net.neighbours.insert(key, KNOWN);
        assert_eq!(resolver.add_host(host, own, &mut net, now), Ok(()));
        assert_eq!((resolver.take_changes(), resolver.next_hop(target)), (changed(&[target]), BY_PORT));
        // Its next hop grows stale: if it is still in use it will be learned again.
        assert_eq!(net.set(&mut resolver, key, Some(STALE), now), changed(&[target]));
        assert!(!resolver.contains(target) && resolver.hosts().is_empty() && net.probes.is_empty());
        // Or nobody answers.
        resolver.add_host(host, own, &mut net, now).unwrap();
        resolver.take_changes();
        assert_eq!(net.set(&mut resolver, key, Some(Neighbour::Failed), now), changed(&[target]));
        assert!(!resolver.contains(target));
        net.route = Route::Here;
        assert_eq!(resolver.add_host(host, own, &mut net, now), Err(NotAdded::Fallback(FallbackReason::Local)));
    }

    /// What many hosts have in common must not cost work for each of them.
    #[test]
    fn very_many_hosts_behind_one_gateway() {
        let (mut resolver, mut net, now) = setting();
        net.neighbours.insert(gateway(), KNOWN);
        let host = |n: u32| IpAddr::V4(Ipv4Addr::from_bits(0x0a09_0000 + n));
        let add_all = |resolver: &mut Resolver<u16>, net: &mut Fake| {
            for n in 0..2000 {
                resolver.add_host(host(n), ip("10.0.0.1"), net, now).unwrap();
            }
            resolver.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), net, now);
            resolver.take_changes();
            net.routes_asked = 0;
        };
        let forgotten = |targets: &[Target<u16>]| Changes { no_hosts: true, targets: targets.to_vec() };
        add_all(&mut resolver, &mut net);
        assert_eq!(resolver.hosts().len(), 2000);
        // One host has a route of its own now.
        resolver.reroute_within(&[Prefix { address: host(7), length: 32 }], &mut net, now);
        assert_eq!((net.routes_asked, resolver.take_changes()), (1, changed(&[])));
        resolver.reroute_within(&[Prefix { address: host(0), length: 16 }], &mut net, now);
        assert_eq!((net.routes_asked, resolver.take_changes()), (1, forgotten(&[])));
        add_all(&mut resolver, &mut net);
        resolver.reroute_all(&mut net, now);
        assert_eq!((net.routes_asked, resolver.take_changes()), (1, forgotten(&[])));
        add_all(&mut resolver, &mut net);
        let moved = Neighbour::Known { mac: [8; 6], fresh: true };
        assert_eq!(net.set(&mut resolver, gateway(), Some(moved), now), forgotten(&[LINK]));
        assert_eq!(resolver.next_hop(LINK).dst_mac, [8; 6]);
        // The gateway is asked, not forgotten, when its address grows stale.
        add_all(&mut resolver, &mut net);
        assert_eq!(
            net.set(&mut resolver, gateway(), Some(Neighbour::Known { mac: [8; 6], fresh: false }), now),
            changed(&[])
        );
        assert_eq!(net.probes, [gateway().1]);
        assert_eq!(resolver.hosts().len(), 2000);
        for n in 0..2000 {
            resolver.forget(host(n));
        }
        assert!(resolver.hosts().is_empty() && resolver.contains(LINK));
    }
}
