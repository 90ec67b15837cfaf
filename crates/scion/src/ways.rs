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
/// Hosts with the same next hop that are forgotten rather than kept when the kernel has not confirmed its address.
const FEW: usize = 8;
/// Hosts that one event may concern before all hosts are forgotten.
const MANY: usize = 1024;

/// By the UDP port, whose frames have no real Ethernet addresses.
pub const BY_KERNEL: NextHop =
    NextHop { port: LOCAL_PORT as u16, dst_mac: udp::OTHERS_MAC, src_mac: udp::ROUTER_MAC, mtu: u32::MAX };

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
                // The kernel tidies up entries that it does not use itself, and when there are too many. Links, and hosts
                // behind a gateway, stay with what they had until there is no answer.
                None if hop.is_shared() && network.probe(key.0, key.1).is_ok() => hop.mac,
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
            } else if !hop.is_shared() {
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
            (Some(dst_mac), Some(port)) => NextHop { port: port.number, dst_mac, src_mac: port.mac, mtu: port.mtu },
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
    /// Worth more than to be learned again. Links come before hosts.
    fn is_shared(&self) -> bool {
        self.users.len() > FEW || self.users.first().is_some_and(|target| !matches!(target, Target::Host(_)))
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
        /// A neighbour is known, stale or (`None`) not known any more, and the ways hear of it.
        fn set(&mut self, ways: &mut Ways, key: (u32, IpAddr), neighbour: Option<Neighbour>, now: Instant) -> Changes {
            match neighbour {
                Some(neighbour) => self.neighbours.insert(key, neighbour),
                None => self.neighbours.remove(&key),
            };
            ways.follow_neighbours(&[key], self, now);
            ways.confirm(self, now);
            ways.take_changes()
        }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    const MAC: [u8; 6] = [9; 6];
    const KNOWN: Neighbour = Neighbour::Known { mac: MAC, fresh: true };
    const STALE: Neighbour = Neighbour::Known { mac: MAC, fresh: false };
    const RAW: NextHop = NextHop { port: 3, dst_mac: MAC, src_mac: [2; 6], mtu: 1500 };
    const PORT: RawPort = RawPort { number: 3, mac: [2; 6], mtu: 1500 };
    const LINK: Target = Target::External(5);

    fn gateway() -> (u32, IpAddr) {
        (7, ip("10.0.0.254"))
    }

    fn setting() -> (Ways, Fake, Instant) {
        let (device, next_hop) = gateway();
        let fake = Fake {
            route: Route::Via { device, next_hop, mtu: None },
            neighbours: HashMap::new(),
            routes_asked: 0,
            probes: vec![],
            may_probe: true,
        };
        (Ways::new([(7, PORT)].into()), fake, Instant::now())
    }

    fn changed(targets: &[Target]) -> Changes {
        Changes { no_hosts: false, targets: targets.to_vec() }
    }

    #[test]
    fn the_kernel_has_a_link_until_its_next_hop_is_known() {
        let (mut ways, mut net, now) = setting();
        ways.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        assert_eq!(ways.take_changes(), Changes::default());
        assert_eq!(ways.next_hop(LINK), BY_KERNEL);
        assert_eq!(ways.plan(LINK), Plan::Raw(7));

        assert_eq!(net.set(&mut ways, gateway(), Some(KNOWN), now), changed(&[LINK]));
        assert_eq!(ways.next_hop(LINK), RAW);
        // It has another address now.
        let moved = Neighbour::Known { mac: [8; 6], fresh: true };
        assert_eq!(net.set(&mut ways, gateway(), Some(moved), now), changed(&[LINK]));
        assert_eq!(ways.next_hop(LINK), NextHop { dst_mac: [8; 6], ..RAW });
        // Tidied up by the kernel: kept, and asked for.
        assert_eq!(net.set(&mut ways, gateway(), None, now), Changes::default());
        assert_eq!(net.probes, [gateway().1]);
        // No answer: the kernel asks with each packet.
        assert_eq!(net.set(&mut ways, gateway(), Some(Neighbour::Failed), now), changed(&[LINK]));
        assert_eq!(ways.next_hop(LINK), BY_KERNEL);
        // Whoever may not ask leaves it to the kernel at once.
        net.may_probe = false;
        net.set(&mut ways, gateway(), Some(KNOWN), now);
        assert_eq!(net.set(&mut ways, gateway(), None, now), changed(&[LINK]));
        assert_eq!(ways.next_hop(LINK), BY_KERNEL);
    }

    #[test]
    fn unconfirmed_addresses_are_used_and_confirmed() {
        let (mut ways, mut net, now) = setting();
        net.neighbours.insert(gateway(), STALE);
        ways.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        assert_eq!(ways.take_changes(), changed(&[LINK]));
        let mut probes_after = |wait: Duration| {
            ways.confirm(&mut net, now + wait);
            assert_eq!(ways.take_changes(), Changes::default());
            net.probes.len()
        };
        assert_eq!(probes_after(Duration::ZERO), 1);
        assert_eq!(probes_after(Duration::from_secs(1)), 1);
        assert_eq!(probes_after(CONFIRM), 2);
        // It has been confirmed.
        net.set(&mut ways, gateway(), Some(KNOWN), now + CONFIRM);
        ways.confirm(&mut net, now + 3 * CONFIRM);
        assert_eq!((net.probes.len(), ways.deadline()), (2, None));
    }

    /// Without the privilege to probe, packets of one link go by the kernel for a moment.
    #[test]
    fn the_kernel_confirms_addresses_that_it_uses() {
        let (mut ways, mut net, now) = setting();
        net.may_probe = false;
        net.neighbours.insert(gateway(), STALE);
        let other = Target::Sibling(1);
        for target in [LINK, other] {
            ways.add(target, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        }
        ways.confirm(&mut net, now);
        assert_eq!(ways.take_changes(), changed(&[other]));
        assert_eq!((ways.next_hop(LINK), ways.next_hop(other)), (BY_KERNEL, RAW));
        assert_eq!(ways.deadline(), Some(now + LOAN));
        ways.confirm(&mut net, now + LOAN);
        assert_eq!(ways.take_changes(), changed(&[LINK]));
        assert_eq!(ways.next_hop(LINK), RAW);
        // Once more, if that was too short; and if it is confirmed meanwhile the loan ends.
        ways.confirm(&mut net, now + LOAN + CONFIRM);
        assert_eq!(ways.take_changes(), changed(&[LINK]));
        assert_eq!(net.set(&mut ways, gateway(), Some(KNOWN), now + LOAN + CONFIRM), changed(&[LINK]));
        assert_eq!(ways.next_hop(LINK), RAW);
    }

    #[test]
    fn routes_are_followed() {
        let (mut ways, mut net, now) = setting();
        net.neighbours.insert(gateway(), KNOWN);
        ways.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        ways.take_changes();
        net.route = Route::Nowhere;
        // Another route has changed: nobody asks for ours.
        let prefix = |address: &str, length| Prefix { address: ip(address), length };
        net.routes_asked = 0;
        ways.reroute_within(&[prefix("10.2.0.0", 16), prefix("fd00::", 8)], &mut net, now);
        assert_eq!((net.routes_asked, ways.take_changes()), (0, Changes::default()));
        ways.reroute_within(&[prefix("10.0.0.0", 8)], &mut net, now);
        assert_eq!((ways.take_changes(), ways.next_hop(LINK)), (changed(&[LINK]), BY_KERNEL));
        assert_eq!(ways.plan(LINK), Plan::Udp(Why::NoRoute));
        assert!(ways.devices().is_empty());
        for (route, plan) in [
            (Route::Here, Plan::Udp(Why::Local)),
            (Route::Encapsulated, Plan::Udp(Why::Encapsulated)),
            (Route::Via { device: 8, next_hop: gateway().1, mtu: None }, Plan::Udp(Why::Device(8))),
            (Route::Via { device: 7, next_hop: gateway().1, mtu: Some(1400) }, Plan::Udp(Why::PathMtu(1400))),
        ] {
            net.route = route;
            ways.reroute_all(&mut net, now);
            assert_eq!((ways.take_changes(), ways.plan(LINK)), (Changes::default(), plan));
        }
        net.route = Route::Via { device: 7, next_hop: gateway().1, mtu: Some(1500) };
        ways.reroute_all(&mut net, now);
        assert_eq!((ways.take_changes(), ways.next_hop(LINK)), (changed(&[LINK]), RAW));
    }

    #[test]
    fn devices_come_and_go() {
        let (mut ways, mut net, now) = setting();
        net.neighbours.insert(gateway(), KNOWN);
        ways.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        ways.take_changes();
        ways.set_ports(HashMap::new());
        assert_eq!((ways.take_changes(), ways.next_hop(LINK)), (changed(&[LINK]), BY_KERNEL));
        assert_eq!((ways.plan(LINK), ways.devices()), (Plan::Udp(Why::Device(7)), [7].into()));
        // With another Ethernet address.
        ways.set_ports([(7, RawPort { mac: [5; 6], ..PORT })].into());
        assert_eq!((ways.take_changes(), ways.next_hop(LINK)), (changed(&[LINK]), NextHop { src_mac: [5; 6], ..RAW }));
        ways.set_ports([(7, RawPort { mac: [5; 6], ..PORT }), (8, PORT)].into());
        assert_eq!(ways.take_changes(), Changes::default());
    }

    #[test]
    fn hosts_with_ways_of_their_own() {
        let (mut ways, mut net, now) = setting();
        let (own, host) = (ip("10.0.0.1"), ip("10.0.0.5"));
        let (target, key) = (Target::Host(host), (7, host));
        net.route = Route::Via { device: 7, next_hop: host, mtu: None };
        assert_eq!(ways.add_host(host, own, &mut net, now), Err(NotAdded::Unresolved));
        assert_eq!(ways.take_changes(), Changes::default());
        assert!(ways.hosts().is_empty());
        net.neighbours.insert(key, KNOWN);
        assert_eq!(ways.add_host(host, own, &mut net, now), Ok(()));
        assert_eq!((ways.take_changes(), ways.next_hop(target)), (changed(&[target]), RAW));
        // Its next hop grows stale: if it is still in use it will be learned again.
        assert_eq!(net.set(&mut ways, key, Some(STALE), now), changed(&[target]));
        assert!(!ways.contains(target) && ways.hosts().is_empty() && net.probes.is_empty());
        // Or nobody answers.
        ways.add_host(host, own, &mut net, now).unwrap();
        ways.take_changes();
        assert_eq!(net.set(&mut ways, key, Some(Neighbour::Failed), now), changed(&[target]));
        assert!(!ways.contains(target));
        net.route = Route::Here;
        assert_eq!(ways.add_host(host, own, &mut net, now), Err(NotAdded::ByUdp(Why::Local)));
    }

    /// What many hosts have in common must not cost work for each of them.
    #[test]
    fn very_many_hosts_behind_one_gateway() {
        let (mut ways, mut net, now) = setting();
        net.neighbours.insert(gateway(), KNOWN);
        let host = |n: u32| IpAddr::V4(Ipv4Addr::from_bits(0x0a09_0000 + n));
        let add_all = |ways: &mut Ways, net: &mut Fake| {
            for n in 0..2000 {
                ways.add_host(host(n), ip("10.0.0.1"), net, now).unwrap();
            }
            ways.add(LINK, ip("10.1.0.1"), ip("10.0.0.1"), net, now);
            ways.take_changes();
            net.routes_asked = 0;
        };
        let forgotten = |targets: &[Target]| Changes { no_hosts: true, targets: targets.to_vec() };
        add_all(&mut ways, &mut net);
        assert_eq!(ways.hosts().len(), 2000);
        // One host has a route of its own now.
        ways.reroute_within(&[Prefix { address: host(7), length: 32 }], &mut net, now);
        assert_eq!((net.routes_asked, ways.take_changes()), (1, Changes::default()));
        ways.reroute_within(&[Prefix { address: host(0), length: 16 }], &mut net, now);
        assert_eq!((net.routes_asked, ways.take_changes()), (1, forgotten(&[])));
        add_all(&mut ways, &mut net);
        ways.reroute_all(&mut net, now);
        assert_eq!((net.routes_asked, ways.take_changes()), (1, forgotten(&[])));
        add_all(&mut ways, &mut net);
        let moved = Neighbour::Known { mac: [8; 6], fresh: true };
        assert_eq!(net.set(&mut ways, gateway(), Some(moved), now), forgotten(&[LINK]));
        assert_eq!(ways.next_hop(LINK).dst_mac, [8; 6]);
        // The gateway is asked, not forgotten, when its address grows stale.
        add_all(&mut ways, &mut net);
        assert_eq!(
            net.set(&mut ways, gateway(), Some(Neighbour::Known { mac: [8; 6], fresh: false }), now),
            Changes::default()
        );
        assert_eq!(net.probes, [gateway().1]);
        assert_eq!(ways.hosts().len(), 2000);
        for n in 0..2000 {
            ways.forget(host(n));
        }
        assert!(ways.hosts().is_empty() && ways.contains(LINK));
    }
}
