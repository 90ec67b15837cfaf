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
    resolver.set_ports(HashMap::new(), &net, now);
    assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[LINK]), FALLBACK));
    assert_eq!((resolver.plan(LINK), resolver.devices()), (Plan::Fallback(FallbackReason::Device(7)), [7].into()));
    // With another Ethernet address.
    resolver.set_ports([(7, DevicePort { mac: [5; 6], ..PORT })].into(), &net, now);
    assert_eq!(
        (resolver.take_changes(), resolver.next_hop(LINK)),
        (changed(&[LINK]), NextHop { src_mac: [5; 6], ..BY_PORT })
    );
    resolver.set_ports([(7, DevicePort { mac: [5; 6], ..PORT }), (8, PORT)].into(), &net, now);
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
    resolver.set_ports([(7, DevicePort { carrier: false, ..PORT })].into(), &net, now);
    assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[LINK]), FALLBACK));
    assert_eq!(resolver.plan(LINK), Plan::Fallback(FallbackReason::NoCarrier(7)));
    resolver.set_ports([(7, PORT)].into(), &net, now);
    assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[]), FALLBACK));
    assert_eq!(net.set(&mut resolver, gateway(), Some(KNOWN), now), changed(&[LINK]));
    assert_eq!(resolver.next_hop(LINK), BY_PORT);
    // An entry that the kernel keeps, a permanent one for example, is still good.
    resolver.set_ports([(7, DevicePort { carrier: false, ..PORT })].into(), &net, now);
    assert_eq!((resolver.take_changes(), resolver.next_hop(LINK)), (changed(&[LINK]), FALLBACK));
    resolver.set_ports([(7, PORT)].into(), &net, now);
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
    let suspended = |targets: &[Target<u16>]| Changes { no_hosts: true, targets: targets.to_vec() };
    add_all(&mut resolver, &mut net);
    assert_eq!(resolver.hosts().len(), 2000);
    // One host has a route of its own now.
    resolver.reroute_within(&[Prefix { address: host(7), length: 32 }], &mut net, now);
    assert_eq!((net.routes_asked, resolver.take_changes()), (1, changed(&[])));
    resolver.reroute_within(&[Prefix { address: host(0), length: 16 }], &mut net, now);
    assert_eq!((net.routes_asked, resolver.take_changes()), (1, suspended(&[])));
    add_all(&mut resolver, &mut net);
    resolver.reroute_all(&mut net, now);
    assert_eq!((net.routes_asked, resolver.take_changes()), (1, suspended(&[])));
    add_all(&mut resolver, &mut net);
    let moved = Neighbour::Known { mac: [8; 6], fresh: true };
    assert_eq!(net.set(&mut resolver, gateway(), Some(moved), now), suspended(&[LINK]));
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

/// An event that concerns very many hosts costs bounded work at a time, and no host its entry.
#[test]
fn very_many_hosts_are_suspended_and_resumed() {
    let (mut resolver, mut net, now) = setting();
    net.neighbours.insert(gateway(), KNOWN);
    let host = |n: u32| IpAddr::V4(Ipv4Addr::from_bits(0x0a09_0000 + n));
    for n in 0..5000 {
        resolver.add_host(host(n), ip("10.0.0.1"), &mut net, now).unwrap();
    }
    resolver.take_changes();
    let resume = |resolver: &mut Resolver<u16>, net: &mut Fake, limit, now| {
        net.routes_asked = 0;
        resolver.resume_hosts(limit, net, now);
        (net.routes_asked, resolver.take_changes().targets.len(), resolver.hosts().len())
    };
    assert_eq!(resume(&mut resolver, &mut net, 6000, now), (0, 0, 5000));

    // The gateway has another address: all hosts have it after five calls.
    let moved = Neighbour::Known { mac: [8; 6], fresh: true };
    assert!(net.set(&mut resolver, gateway(), Some(moved), now).no_hosts);
    assert_eq!(resolver.next_hop(Target::Host(host(7))), FALLBACK);
    for hosts in [MANY, 2 * MANY, 3 * MANY, 4 * MANY] {
        assert_eq!(resolver.deadline(), Some(now));
        assert_eq!(resume(&mut resolver, &mut net, 6000, now), (MANY, MANY, hosts));
    }
    resume(&mut resolver, &mut net, 6000, now);
    assert_eq!((resolver.hosts().len(), resolver.deadline()), (5000, None));
    assert!((0..5000).all(|n| resolver.next_hop(Target::Host(host(n))).dst_mac == [8; 6]));

    // It is not resolved for a while: few routes are looked up meanwhile.
    net.neighbours.remove(&gateway());
    resolver.reroute_all(&mut net, now);
    assert!(resolver.take_changes().no_hosts);
    assert_eq!(resume(&mut resolver, &mut net, 6000, now), (FEW, 0, 0));
    assert_eq!(resume(&mut resolver, &mut net, 6000, now), (0, 0, 0));
    net.neighbours.insert(gateway(), KNOWN);
    let later = now + RETRY;
    assert_eq!(resolver.deadline(), Some(later));
    // Other hosts have got entries: no more than the limit have some.
    resolver.add_host(ip("10.99.0.1"), ip("10.0.0.1"), &mut net, later).unwrap();
    assert_eq!(resume(&mut resolver, &mut net, 1000, later).2, 1000);
    assert_eq!(resolver.deadline(), None);

    // It is never resolved: they are forgotten.
    for n in 0..5000 {
        resolver.add_host(host(n), ip("10.0.0.1"), &mut net, now).unwrap();
    }
    net.neighbours.remove(&gateway());
    resolver.reroute_all(&mut net, now);
    resume(&mut resolver, &mut net, 6000, now + PATIENCE);
    assert_eq!((resolver.hosts().len(), resolver.deadline()), (0, None));
}
