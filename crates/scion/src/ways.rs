//! Ways: which hosts the router must reach, and by which next hop each is reached now.
//!
//! Follows routes and neighbours; says what to program. Does not live here: the kernel's view ([`crate::kernel`]),
//! tables ([`crate::tables`]).

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use hopwright_ports::local;

use crate::kernel::{Device, Kernel, Neighbour, Route};
use crate::program::LOCAL_PORT;
use crate::tables::NextHop;

/// Time between attempts to find out a missing link-layer address.
const RETRY: Duration = Duration::from_millis(500);
/// How long an address that nobody has confirmed may be used before the kernel is asked to.
const CONFIRM: Duration = Duration::from_secs(20);
/// How long a host may stay without a way before it is forgotten.
const PATIENCE: Duration = Duration::from_secs(3);

/// To processes of this machine.
const LOCAL: NextHop = NextHop { port: LOCAL_PORT as u16, dst_mac: local::PROCESSES_MAC, src_mac: local::ROUTER_MAC };

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

/// One of [`Target`]s and what is known about it.
#[derive(Debug)]
struct Way {
    destination: IpAddr,
    source: IpAddr,
    route: Route,
    next_hop: Option<NextHop>,
    asked: Option<Instant>,
    /// Since when there is no next hop.
    missing_since: Instant,
}

/// What has become of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// There is a (new) next hop.
    Found(Target),
    /// There is none any more.
    Lost(Target),
    /// A host that could not be found is given up.
    Forgotten(IpAddr),
}

/// What the ways need of the kernel.
pub trait Network {
    /// As [`Kernel::route`]; an error counts as no route.
    fn route(&mut self, destination: IpAddr, source: IpAddr) -> Route;
    /// As [`Kernel::neighbour`].
    fn neighbour(&self, device: u32, address: IpAddr) -> Option<Neighbour>;
    /// As [`Kernel::probe`].
    fn probe(&mut self, device: u32, address: IpAddr);
    /// A device.
    fn device(&self, index: u32) -> Option<Device>;
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

    fn probe(&mut self, device: u32, address: IpAddr) {
        if let Err(error) = Kernel::probe(self, device, address) {
            tracing::debug!(%address, %error, "cannot ask for a neighbour");
        }
    }

    fn device(&self, index: u32) -> Option<Device> {
        self.devices().get(&index).cloned()
    }
}

/// All ways of a router.
#[derive(Debug, Default)]
pub struct Ways {
    /// The switch's port for each device.
    ports: HashMap<u32, u16>,
    ways: BTreeMap<Target, Way>,
}

impl Ways {
    /// No targets yet; `ports` has the switch's port number for each device.
    pub fn new(ports: HashMap<u32, u16>) -> Ways {
        Ways { ports, ways: BTreeMap::new() }
    }

    /// Which device has which port from now on. Takes effect with the next [`Ways::refresh`].
    pub fn set_ports(&mut self, ports: HashMap<u32, u16>) {
        self.ports = ports;
    }

    /// A target is no longer to be reached.
    pub fn remove(&mut self, target: Target) {
        self.ways.remove(&target);
    }

    /// Number of targets.
    pub fn len(&self) -> usize {
        self.ways.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ways.is_empty()
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
        self.ways.entry(target).or_insert_with(|| {
            let route = network.route(destination, source);
            Way { destination, source, route, next_hop: None, asked: None, missing_since: now }
        });
    }

    /// A target's next hop, as of the last [`Ways::refresh`].
    pub fn next_hop(&self, target: Target) -> Option<NextHop> {
        self.ways.get(&target).and_then(|w| w.next_hop)
    }

    /// Whether a target is on a network that the router is on, so that it is its own next hop.
    pub fn is_direct(&self, target: Target) -> bool {
        let direct = |w: &Way| matches!(w.route, Route::Via { next_hop, .. } if next_hop == w.destination);
        self.ways.get(&target).is_some_and(direct)
    }

    /// Whether some target waits for its next hop.
    pub fn is_waiting(&self) -> bool {
        self.ways.values().any(|w| w.next_hop.is_none())
    }

    /// Where the routes of the targets lead now: the devices they leave by.
    pub fn devices(&self) -> Vec<u32> {
        let mut devices: Vec<u32> = self
            .ways
            .values()
            .filter_map(|w| match w.route {
                Route::Via { device, .. } => Some(device),
                _ => None,
            })
            .collect();
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// Looks all routes up again.
    pub fn reroute(&mut self, network: &mut impl Network) {
        for way in self.ways.values_mut() {
            let route = network.route(way.destination, way.source);
            if route != way.route {
                way.route = route;
                way.asked = None;
            }
        }
    }

    /// Compares what is with what is programmed and asks for what is missing.
    pub fn refresh(&mut self, network: &mut impl Network, now: Instant) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut forgotten = Vec::new();
        for (target, way) in &mut self.ways {
            let mut ask = None;
            let next_hop = match way.route {
                Route::Via { device, next_hop } => {
                    let neighbour = network.neighbour(device, next_hop);
                    let found = match neighbour {
                        Some(Neighbour::Known { mac, .. }) => Some(mac),
                        // The kernel tidies up entries it does not use itself. Links stay with what they had until
                        // there is no answer; hosts are looked for when they are needed again.
                        None if !matches!(target, Target::Host(_)) => way.next_hop.map(|n| n.dst_mac),
                        _ => None,
                    };
                    match neighbour {
                        Some(Neighbour::Known { fresh: true, .. }) => {}
                        Some(Neighbour::Known { fresh: false, .. }) => ask = Some((device, next_hop, CONFIRM)),
                        _ => ask = Some((device, next_hop, RETRY)),
                    }
                    let port = self.ports.get(&device).copied();
                    let src_mac = network.device(device).filter(|d| d.up).and_then(|d| d.mac);
                    match (found, port, src_mac) {
                        (Some(dst_mac), Some(port), Some(src_mac)) => Some(NextHop { port, dst_mac, src_mac }),
                        _ => None,
                    }
                }
                // Beside this router. What is for the machine alone is not for packets from elsewhere.
                Route::Here
                    if !matches!(target, Target::External(_))
                        && way.destination.is_loopback() == way.source.is_loopback() =>
                {
                    Some(LOCAL)
                }
                _ => None,
            };
            if let Some((device, address, pause)) = ask
                && way.asked.is_none_or(|at| now.duration_since(at) >= pause)
            {
                way.asked = Some(now);
                network.probe(device, address);
            }
            if next_hop != way.next_hop {
                way.missing_since = now;
                changes.push(match next_hop {
                    Some(_) => Change::Found(*target),
                    None => Change::Lost(*target),
                });
                way.next_hop = next_hop;
            }
            if let Target::Host(host) = target
                && next_hop.is_none()
                && now.duration_since(way.missing_since) >= PATIENCE
            {
                forgotten.push(*host);
            }
        }
        for host in forgotten {
            self.ways.remove(&Target::Host(host));
            changes.push(Change::Forgotten(host));
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network of one device and one route.
    struct Fake {
        route: Route,
        neighbours: HashMap<(u32, IpAddr), Neighbour>,
        up: bool,
        probes: Vec<IpAddr>,
    }

    impl Network for Fake {
        fn route(&mut self, _: IpAddr, _: IpAddr) -> Route {
            self.route
        }
        fn neighbour(&self, device: u32, address: IpAddr) -> Option<Neighbour> {
            self.neighbours.get(&(device, address)).copied()
        }
        fn probe(&mut self, _: u32, address: IpAddr) {
            self.probes.push(address);
        }
        fn device(&self, index: u32) -> Option<Device> {
            Some(Device { index, mac: Some([2; 6]), up: self.up, ..Device::default() })
        }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn setting() -> (Ways, Fake, Instant) {
        let route = Route::Via { device: 7, next_hop: ip("10.0.0.254") };
        let fake = Fake { route, neighbours: HashMap::new(), up: true, probes: vec![] };
        (Ways::new([(7, 3)].into()), fake, Instant::now())
    }

    const MAC: [u8; 6] = [9; 6];
    const FOUND: NextHop = NextHop { port: 3, dst_mac: MAC, src_mac: [2; 6] };

    #[test]
    fn a_link_is_found_lost_and_found() {
        let (mut ways, mut net, now) = setting();
        let gateway = (7, ip("10.0.0.254"));
        let target = Target::External(0);
        ways.add(target, ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        assert_eq!(ways.refresh(&mut net, now), []);
        assert_eq!(net.probes, [gateway.1]);
        // Not again at once.
        assert_eq!(ways.refresh(&mut net, now + Duration::from_millis(100)), []);
        assert_eq!(net.probes.len(), 1);
        assert!(ways.is_waiting());

        net.neighbours.insert(gateway, Neighbour::Known { mac: MAC, fresh: true });
        assert_eq!(ways.refresh(&mut net, now), [Change::Found(target)]);
        assert_eq!(ways.refresh(&mut net, now), []);
        assert!(ways.next_hop(target) == Some(FOUND) && !ways.is_waiting());

        // Tidied up by the kernel: kept, and asked for.
        net.neighbours.clear();
        let later = now + Duration::from_secs(1);
        assert_eq!(ways.refresh(&mut net, later), []);
        assert_eq!(net.probes.len(), 2);
        // No answer: gone.
        net.neighbours.insert(gateway, Neighbour::Failed);
        assert_eq!(ways.refresh(&mut net, later), [Change::Lost(target)]);

        net.neighbours.insert(gateway, Neighbour::Known { mac: [8; 6], fresh: true });
        let other = NextHop { dst_mac: [8; 6], ..FOUND };
        assert_eq!(ways.refresh(&mut net, later), [Change::Found(target)]);
        assert_eq!(ways.next_hop(target), Some(other));
        net.up = false;
        assert_eq!(ways.refresh(&mut net, later), [Change::Lost(target)]);
    }

    #[test]
    fn unconfirmed_addresses_are_used_and_confirmed() {
        let (mut ways, mut net, now) = setting();
        net.neighbours.insert((7, ip("10.0.0.254")), Neighbour::Known { mac: MAC, fresh: false });
        ways.add(Target::Sibling(0), ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        assert_eq!(ways.refresh(&mut net, now), [Change::Found(Target::Sibling(0))]);
        assert_eq!(net.probes.len(), 1);
        ways.refresh(&mut net, now + Duration::from_secs(1));
        assert_eq!(net.probes.len(), 1);
        ways.refresh(&mut net, now + CONFIRM);
        assert_eq!(net.probes.len(), 2);
    }

    #[test]
    fn routes_are_followed() {
        let (mut ways, mut net, now) = setting();
        net.neighbours.insert((7, ip("10.0.0.254")), Neighbour::Known { mac: MAC, fresh: true });
        ways.add(Target::External(1), ip("10.1.0.1"), ip("10.0.0.1"), &mut net, now);
        ways.refresh(&mut net, now);
        net.route = Route::Nowhere;
        ways.reroute(&mut net);
        assert_eq!(ways.refresh(&mut net, now), [Change::Lost(Target::External(1))]);
        assert!(ways.devices().is_empty());
        // A device that has no port cannot be used.
        net.route = Route::Via { device: 8, next_hop: ip("10.0.0.254") };
        net.neighbours.insert((8, ip("10.0.0.254")), Neighbour::Known { mac: MAC, fresh: true });
        ways.reroute(&mut net);
        assert_eq!(ways.refresh(&mut net, now), []);
        assert_eq!(ways.devices(), [8]);
    }

    #[test]
    fn processes_of_this_machine() {
        let (mut ways, mut net, now) = setting();
        net.route = Route::Here;
        let (own, other, loopback) = (ip("10.0.0.1"), ip("10.9.9.9"), ip("127.0.0.1"));
        for host in [own, other] {
            ways.add(Target::Host(host), host, own, &mut net, now);
            assert_eq!(ways.refresh(&mut net, now), [Change::Found(Target::Host(host))]);
            assert_eq!(ways.next_hop(Target::Host(host)), Some(LOCAL));
        }
        // Nobody outside reaches what listens on the loopback address, unless the router does, too.
        ways.add(Target::Host(loopback), loopback, own, &mut net, now);
        assert_eq!(ways.refresh(&mut net, now), []);
        let (mut ways, mut net, now) = setting();
        net.route = Route::Here;
        ways.add(Target::Host(loopback), loopback, ip("127.0.0.9"), &mut net, now);
        assert_eq!(ways.refresh(&mut net, now), [Change::Found(Target::Host(loopback))]);
    }

    #[test]
    fn hosts_are_forgotten() {
        let (mut ways, mut net, now) = setting();
        let host = ip("10.0.0.5");
        net.route = Route::Via { device: 7, next_hop: host };
        ways.add(Target::Host(host), host, ip("10.0.0.1"), &mut net, now);
        assert_eq!(ways.refresh(&mut net, now), []);
        assert_eq!(ways.refresh(&mut net, now + PATIENCE), [Change::Forgotten(host)]);
        assert!(ways.is_empty());

        ways.add(Target::Host(host), host, ip("10.0.0.1"), &mut net, now);
        net.neighbours.insert((7, host), Neighbour::Known { mac: MAC, fresh: true });
        assert_eq!(ways.refresh(&mut net, now), [Change::Found(Target::Host(host))]);
        net.neighbours.clear();
        assert_eq!(ways.refresh(&mut net, now + PATIENCE), [Change::Lost(Target::Host(host))]);
        assert_eq!(ways.refresh(&mut net, now + 2 * PATIENCE), [Change::Forgotten(host)]);
    }
}
