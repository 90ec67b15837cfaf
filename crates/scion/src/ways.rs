//! How each target of the router is reached now: the next hops of links and of hosts that have table entries.
//!
//! A target whose route leads to a resolved next hop by a device with a raw port goes by that port. Every other target goes
//! by the UDP port: the kernel routes, resolves neighbours and fragments.
//!
//! Work is per event, not per target: routes that change concern the targets within their prefix, neighbours those that
//! have them as next hop. Where an event concerns very many hosts, all hosts are forgotten instead; they are learned again
//! as they are used.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use hopwright_ports::udp;

use crate::kernel::{Kernel, Neighbour, Prefix, Route};
use crate::program::LOCAL_PORT;
use crate::tables::NextHop;

/// How long after the last attempt the kernel is asked again to confirm a neighbour's address.
const CONFIRM: Duration = Duration::from_secs(20);
/// How long a target goes by the UDP port so that the kernel confirms its next hop.
const LOAN: Duration = Duration::from_millis(300);
/// Hosts with the same next hop that are forgotten rather than confirmed when its address grows stale.
const FEW: usize = 8;
/// Hosts that one event may concern before all hosts are forgotten.
const MANY: usize = 1024;

/// By the UDP port, whose frames have no real Ethernet addresses.
pub const BY_KERNEL: NextHop =
    NextHop { port: LOCAL_PORT as u16, dst_mac: udp::OTHERS_MAC, src_mac: udp::ROUTER_MAC };

/// Who must be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// The other end of the external link with this interface id.
    External(u16),
    /// The sibling router with this number ([`crate::links::Sibling::number`]).
    Sibling(u16),
    /// A host of the AS.
    Host(IpAddr),
}

/// By which kind of port packets for a target are meant to go, whether or not the next hop is resolved now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// By the raw port of this device.
    Raw(u32),
    /// By the UDP port.
    Udp(Why),
}

/// Why packets go by the UDP port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The target is on this machine.
    Local,
    /// There is no route.
    NoRoute,
    /// The route encapsulates packets.
    Encapsulated,
    /// The device of the route has no raw port.
    Device(u32),
    /// The path carries less than the device.
    PathMtu(u32),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Local => f.write_str("it is on this machine"),
            Why::NoRoute => f.write_str("there is no route to it"),
            Why::Encapsulated => f.write_str("its route encapsulates packets"),
            Why::Device(index) => write!(f, "its route leads by device {index}, which has no raw port"),
            Why::PathMtu(mtu) => write!(f, "the path's MTU is {mtu}, less than the device's"),
        }
    }
}

/// Why a host got no way of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdded {
    /// Its next hop is not resolved yet.
    Unresolved,
    /// It goes by the UDP port.
    ByUdp(Why),
}

/// The raw port of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawPort {
    /// The switch's number.
    pub number: u16,
    /// Ethernet address of the device.
    pub mac: [u8; 6],
    /// MTU of the device.
    pub mtu: u32,
}

/// One of [`Target`]s and what is known about it.
#[derive(Debug)]
struct Way {
    destination: IpAddr,
    source: IpAddr,
    route: Route,
    /// As it was last reported.
    next_hop: NextHop,
    /// Of a host: its place in [`Ways::hosts`].
    place: usize,
}

/// A neighbour that targets have as next hop.
#[derive(Debug, Default)]
struct Hop {
    mac: Option<[u8; 6]>,
    users: BTreeSet<Target>,
    /// The user that goes by the UDP port for the moment, so that the kernel confirms the address.
    lent: Option<Target>,
}

/// What the ways need of the kernel.
pub trait Network {
    /// As [`Kernel::route`]; an error counts as no route.
    fn route(&mut self, destination: IpAddr, source: IpAddr) -> Route;
    /// As [`Kernel::neighbour`].
    fn neighbour(&self, device: u32, address: IpAddr) -> Option<Neighbour>;
    /// As [`Kernel::probe`].
    fn probe(&mut self, device: u32, address: IpAddr) -> io::Result<()>;
}

impl Network for Kernel {
    fn route(&mut self, destination: IpAddr, source: IpAddr) -> Route {
        Kernel::route(self, destination, source).unwrap_or_else(|error| {
            tracing::warn!(%destination, %error, "cannot ask for a route");
            Route::Nowhere
        })
    }

    fn neighbour(&self, device: u32, address: IpAddr) -> Option<Neighbour> {
        Kernel::neighbour(self, device, address)
    }

    fn probe(&mut self, device: u32, address: IpAddr) -> io::Result<()> {
        Kernel::probe(self, device, address)
    }
}

/// What is different since the last [`Ways::take_changes`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Every host has been forgotten; hosts in `targets` were added afterwards.
    pub no_hosts: bool,
    /// Targets that have another next hop, and hosts that were forgotten.
    pub targets: Vec<Target>,
}

/// All ways of a router.
#[derive(Debug, Default)]
pub struct Ways {
    /// Raw ports by device.
    ports: HashMap<u32, RawPort>,
    ways: BTreeMap<Target, Way>,
    /// The hosts among the targets, in no order.
    hosts: Vec<IpAddr>,
    hops: HashMap<(u32, IpAddr), Hop>,
    /// Next hops whose address is to be confirmed, or whose loan ends.
    due: BTreeSet<(Instant, u32, IpAddr)>,
    /// Whose way may be another now.
    touched: BTreeSet<Target>,
    no_hosts: bool,
}

impl Ways {
    /// No targets yet; `ports` are the raw ports by device.
    pub fn new(ports: HashMap<u32, RawPort>) -> Ways {
        Ways { ports, ..Ways::default() }
    }

    /// Which device has which raw port from now on.
    pub fn set_ports(&mut self, ports: HashMap<u32, RawPort>) {
        let before = std::mem::replace(&mut self.ports, ports);
        let differs = |device: &u32| before.get(device) != self.ports.get(device);
        let hops: Vec<_> = self.hops.keys().filter(|(device, _)| differs(device)).copied().collect();
        for key in hops {
            self.touch_users(key);
        }
    }

    /// A new target, reached from one of our addresses. Nothing if it is known already.
    pub fn add(
        &mut self,
        target: Target,
        destination: IpAddr,
        source: IpAddr,
        network: &mut impl Network,
        now: Instant,
    ) {
        if !self.ways.contains_key(&target) {
            let route = network.route(destination, source);
            self.insert(target, destination, source, route, network, now);
        }
    }

    /// Adds a host if a raw port reaches it now; says why not otherwise.
    pub fn add_host(
        &mut self,
        host: IpAddr,
        source: IpAddr,
        network: &mut impl Network,
        now: Instant,
    ) -> Result<(), NotAdded> {
        let route = network.route(host, source);
        match (plan(&self.ports, route), route) {
            (Plan::Udp(why), _) => return Err(NotAdded::ByUdp(why)),
            (Plan::Raw(_), Route::Via { device, next_hop, .. })
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
        target: Target,
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
        self.ways.insert(target, Way { destination, source, route, next_hop: BY_KERNEL, place });
        self.link(target, network, now);
        self.touched.insert(target);
    }

    /// A target is no longer to be reached.
    pub fn remove(&mut self, target: Target) {
        self.unlink(target);
        self.touched.remove(&target);
        let Some(way) = self.ways.remove(&target) else { return };
        if let Target::Host(_) = target {
            self.hosts.swap_remove(way.place);
            if let Some(moved) = self.hosts.get(way.place)
                && let Some(moved) = self.ways.get_mut(&Target::Host(*moved))
            {
                moved.place = way.place;
            }
        }
    }

    /// Forgets a host. [`Ways::take_changes`] will report it.
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
        self.ways.split_off(&first_host);
        self.touched.split_off(&first_host);
        self.no_hosts = true;
    }

    /// Whether a target is known.
    pub fn contains(&self, target: Target) -> bool {
        self.ways.contains_key(&target)
    }

    /// The known hosts, in no order.
    pub fn hosts(&self) -> &[IpAddr] {
        &self.hosts
    }

    /// How a target is reached, as of the last [`Ways::take_changes`].
    pub fn next_hop(&self, target: Target) -> NextHop {
        self.ways.get(&target).map_or(BY_KERNEL, |way| way.next_hop)
    }

    /// By which kind of port a target is meant to be reached.
    pub fn plan(&self, target: Target) -> Plan {
        self.ways.get(&target).map_or(Plan::Udp(Why::NoRoute), |way| plan(&self.ports, way.route))
    }

    /// Whether a target is on a network that the router is on, so that it is its own next hop.
    pub fn is_direct(&self, target: Target) -> bool {
        let direct = |w: &Way| matches!(w.route, Route::Via { next_hop, .. } if next_hop == w.destination);
        self.ways.get(&target).is_some_and(direct)
    }

    /// Where the routes of the targets lead now: the devices they leave by.
    pub fn devices(&self) -> BTreeSet<u32> {
        let device = |way: &Way| match way.route {
            Route::Via { device, .. } => Some(device),
            _ => None,
        };
        let links = self.ways.iter().filter(|(target, _)| !matches!(target, Target::Host(_)));
        let of_hosts = self.hops.iter().filter(|(_, hop)| !hop.users.is_empty()).map(|((device, _), _)| *device);
        links.filter_map(|(_, way)| device(way)).chain(of_hosts).collect()
    }

    /// Any route may be different.
    pub fn reroute_all(&mut self, network: &mut impl Network, now: Instant) {
        if self.hosts.len() > MANY {
            self.forget_hosts();
        }
        self.reroute(self.ways.keys().copied().collect(), network, now);
    }

    /// Routes with these destinations are different.
    pub fn reroute_within(&mut self, prefixes: &[Prefix], network: &mut impl Network, now: Instant) {
        let mut concerned = BTreeSet::new();
        for prefix in prefixes {
            let (first, last) = prefix.range();
            let hosts = self.ways.range(Target::Host(first)..=Target::Host(last)).map(|(target, _)| *target);
            concerned.extend(hosts.take(MANY + 1));
            if concerned.len() > MANY {
                self.forget_hosts();
                concerned.clear();
                break;
            }
        }
        let links = self.ways.iter().take_while(|(target, _)| !matches!(target, Target::Host(_)));
        let within = |way: &Way| prefixes.iter().any(|prefix| prefix.contains(way.destination));
        concerned.extend(links.filter(|(_, way)| within(way)).map(|(target, _)| *target));
        self.reroute(concerned.into_iter().collect(), network, now);
    }

    fn reroute(&mut self, targets: Vec<Target>, network: &mut impl Network, now: Instant) {
        for target in targets {
            let Some(way) = self.ways.get_mut(&target) else { continue };
            let route = network.route(way.destination, way.source);
            if route != way.route {
                self.unlink(target);
                if let Some(way) = self.ways.get_mut(&target) {
                    way.route = route;
                }
                self.link(target, network, now);
                self.touched.insert(target);
            }
        }
    }

    /// These neighbours are different.
    pub fn follow_neighbours(&mut self, neighbours: &[(u32, IpAddr)], network: &mut impl Network, now: Instant) {
        for &key in neighbours {
            let Some(hop) = self.hops.get_mut(&key) else { continue };
            let neighbour = network.neighbour(key.0, key.1);
            let mac = match neighbour {
                Some(Neighbour::Known { mac, .. }) => Some(mac),
                // The kernel tidies up entries that it does not use itself. Links stay with what they had until there is
                // no answer.
                None if hop.has_links() && network.probe(key.0, key.1).is_ok() => hop.mac,
                _ => None,
            };
            let changed = hop.mac != mac || hop.lent.is_some();
            hop.mac = mac;
            hop.lent = None;
            if matches!(neighbour, Some(Neighbour::Known { fresh: false, .. })) {
                self.due.insert((now, key.0, key.1));
            }
            if changed {
                self.touch_users(key);
            }
        }
    }

    /// When [`Ways::confirm`] has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, ..)| *at)
    }

    /// Has the kernel confirm addresses that nobody has confirmed for a while. Without the privilege to ask for that, one
    /// of those who use the address goes by the UDP port for a moment.
    pub fn confirm(&mut self, network: &mut impl Network, now: Instant) {
        while let Some(&(at, device, address)) = self.due.first() {
            if at > now {
                break;
            }
            self.due.pop_first();
            let key = (device, address);
            let stale = matches!(network.neighbour(device, address), Some(Neighbour::Known { fresh: false, .. }));
            let Some(hop) = self.hops.get_mut(&key) else { continue };
            if let Some(target) = hop.lent.take() {
                self.touched.insert(target);
                self.due.insert((now + CONFIRM, device, address));
            } else if !stale {
                // It was confirmed.
            } else if !hop.has_links() && hop.users.len() <= FEW {
                // Those that are still in use go by the kernel, which confirms the address, and are learned again.
                for target in hop.users.clone() {
                    if let Target::Host(host) = target {
                        self.forget(host);
                    }
                }
            } else if network.probe(device, address).is_ok() {
                self.due.insert((now + CONFIRM, device, address));
            } else if let Some(target) = hop.users.first().copied() {
                hop.lent = Some(target);
                self.touched.insert(target);
                self.due.insert((now + LOAN, device, address));
            }
        }
    }

    /// What has become different.
    pub fn take_changes(&mut self) -> Changes {
        let no_hosts = std::mem::take(&mut self.no_hosts);
        let mut targets = Vec::new();
        for target in std::mem::take(&mut self.touched) {
            let Some(way) = self.ways.get(&target) else {
                targets.push(target);
                continue;
            };
            let next_hop = self.way_now(target, way);
            if next_hop == way.next_hop {
                continue;
            }
            targets.push(target);
            // A host that goes by the UDP port needs no entry.
            if next_hop == BY_KERNEL && matches!(target, Target::Host(_)) {
                self.remove(target);
            } else if let Some(way) = self.ways.get_mut(&target) {
                way.next_hop = next_hop;
            }
        }
        Changes { no_hosts, targets }
    }

    fn way_now(&self, target: Target, way: &Way) -> NextHop {
        let Plan::Raw(device) = plan(&self.ports, way.route) else { return BY_KERNEL };
        let hop = hop_of(way).and_then(|key| self.hops.get(&key)).filter(|hop| hop.lent != Some(target));
        match (hop.and_then(|hop| hop.mac), self.ports.get(&device)) {
            (Some(dst_mac), Some(port)) => NextHop { port: port.number, dst_mac, src_mac: port.mac },
            _ => BY_KERNEL,
        }
    }

    /// Makes a target a user of its next hop.
    fn link(&mut self, target: Target, network: &impl Network, now: Instant) {
        let Some(key) = self.ways.get(&target).and_then(hop_of) else { return };
        let hop = self.hops.entry(key).or_insert_with(|| {
            let mut hop = Hop::default();
            if let Some(Neighbour::Known { mac, fresh }) = network.neighbour(key.0, key.1) {
                hop.mac = Some(mac);
                // A host was reached by the kernel just now, which confirms the address in a few seconds.
                let later = if matches!(target, Target::Host(_)) { CONFIRM } else { Duration::ZERO };
                if !fresh {
                    self.due.insert((now + later, key.0, key.1));
                }
            }
            hop
        });
        hop.users.insert(target);
    }

    fn unlink(&mut self, target: Target) {
        let Some(key) = self.ways.get(&target).and_then(hop_of) else { return };
        let Some(hop) = self.hops.get_mut(&key) else { return };
        hop.users.remove(&target);
        if hop.users.is_empty() {
            self.hops.remove(&key);
        } else if hop.lent == Some(target) {
            hop.lent = None;
        }
    }

    fn touch_users(&mut self, key: (u32, IpAddr)) {
        let Some(hop) = self.hops.get(&key) else { return };
        if hop.users.len() > MANY && self.hosts.len() > MANY {
            self.forget_hosts();
        }
        if let Some(hop) = self.hops.get(&key) {
            self.touched.extend(&hop.users);
        }
    }
}

impl Hop {
    /// Links come before hosts.
    fn has_links(&self) -> bool {
        self.users.first().is_some_and(|target| !matches!(target, Target::Host(_)))
    }
}

fn plan(ports: &HashMap<u32, RawPort>, route: Route) -> Plan {
    Plan::Udp(match route {
        Route::Via { device, mtu, .. } => match (ports.get(&device), mtu) {
            (None, _) => Why::Device(device),
            (Some(port), Some(mtu)) if mtu < port.mtu => Why::PathMtu(mtu),
            _ => return Plan::Raw(device),
        },
        Route::Here => Why::Local,
        Route::Nowhere => Why::NoRoute,
        Route::Encapsulated => Why::Encapsulated,
    })
}

fn hop_of(way: &Way) -> Option<(u32, IpAddr)> {
    match way.route {
        Route::Via { device, next_hop, .. } => Some((device, next_hop)),
        _ => None,
    }
}
