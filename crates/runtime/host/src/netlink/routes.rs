//! The routes of all tables, as the kernel reports them: those of the main and the local table as lookups find them, and others by table.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_APPEND, NLM_F_REPLACE};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteMetric, RouteNextHop, RouteNextHopFlags,
    RouteProtocol, RouteScope, RouteType, RouteVia,
};

use super::Prefix;
use super::message::{encapsulates, prefix};

/// Numbers of routing tables (`RT_TABLE_*` in linux/rtnetlink.h).
const MAIN: u32 = 254;
const LOCAL: u32 = 255;
/// Most next hops of a route that are read: the kernel's limit for next-hop objects, and more than it takes otherwise.
const MAX_NEXT_HOPS: usize = 1024;

/// What happens to packets of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RouteKind {
    /// Forwarded by one of the next hops.
    Unicast,
    /// Delivered to this host: its own addresses, broadcast and anycast ones included.
    Local,
    /// Dropped.
    Blackhole,
    /// Answered by ICMP: unreachable and prohibited destinations.
    Unreachable,
    /// Only the kernel can say: the route uses a next-hop object of which it reports only the number
    /// (`net.ipv4.nexthop_compat_mode` is 0), has lookups go on in other tables, or is for one type of service or for packets of
    /// some sources.
    KernelOnly,
}

/// One of a route's next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NextHop {
    /// Index of the device.
    pub device: u32,
    /// The next router; without it the destination itself is on the device's link.
    pub gateway: Option<IpAddr>,
    /// Share of the flows, from 1.
    pub weight: u16,
    /// The kernel does not use it, because its device is down.
    pub dead: bool,
    /// Only the kernel can encapsulate packets for it.
    pub encapsulated: bool,
}

/// What the kernel does with packets to a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// What happens to them.
    pub kind: RouteKind,
    /// Of a unicast route.
    pub next_hops: Box<[NextHop]>,
    /// The path's MTU, where the route says so.
    pub mtu: Option<u32>,
}

/// A route of one of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Route {
    local_table: bool,
    /// For one type of service, or for some sources: 0 and 0 otherwise.
    selector: (u8, u8),
    metric: u32,
    forwarding: Forwarding,
    /// The next-hop object that it refers to.
    object: Option<u32>,
    /// What else tells routes apart that the kernel has side by side.
    origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Origin {
    protocol: RouteProtocol,
    scope: RouteScope,
    source: Option<IpAddr>,
}

impl Route {
    /// Routes of the same rank differ in nothing that lookups look at. The local table comes first, then what is only for some
    /// packets.
    fn rank(&self) -> (bool, Reverse<(u8, u8)>, u32) {
        (!self.local_table, Reverse(self.selector), self.metric)
    }

    fn has_dead(&self) -> bool {
        self.forwarding.next_hops.iter().any(|hop| hop.dead)
    }

    /// This one is meant where the kernel says that the other is gone.
    fn is(&self, gone: &Route) -> bool {
        self.object == gone.object && (self.object.is_some() || self.covers(gone) && gone.covers(self))
    }

    /// Each of the other's next hops is one of this route's.
    fn covers(&self, other: &Route) -> bool {
        let place = |hop: &NextHop| (hop.device, hop.gateway);
        let mine = &self.forwarding.next_hops;
        other.forwarding.next_hops.iter().all(|theirs| mine.iter().any(|hop| place(hop) == place(theirs)))
    }
}

/// Routes by prefix, in the order in which lookups prefer them.
type ByPrefix = HashMap<Prefix, Vec<Route>>;

/// All routes.
#[derive(Debug, Default)]
pub struct Routes {
    /// Those of the main and the local table.
    by_prefix: ByPrefix,
    /// Those of other tables.
    others: BTreeMap<u32, ByPrefix>,
    /// Prefixes of more than one address in the local table, which lookups look at before the main table, by length.
    wide: BTreeSet<(u8, IpAddr)>,
    uses: Uses,
}

/// What routes depend on.
#[derive(Debug, Default)]
struct Uses {
    /// How many routes refer to a next-hop object.
    objects: HashMap<u32, usize>,
    /// How many have next hops that the kernel does not use at present.
    dead: usize,
}

impl Uses {
    fn add(&mut self, route: &Route) {
        if let Some(object) = route.object {
            *self.objects.entry(object).or_default() += 1;
        }
        self.dead += usize::from(route.has_dead());
    }

    fn remove(&mut self, route: &Route) {
        if let Some(object) = route.object
            && let Some(count) = self.objects.get_mut(&object)
        {
            *count -= 1;
            if *count == 0 {
                self.objects.remove(&object);
            }
        }
        self.dead -= usize::from(route.has_dead());
    }
}

impl Routes {
    /// What the kernel does with packets to a prefix, longer prefixes aside.
    pub fn get(&self, prefix: Prefix) -> Option<&Forwarding> {
        let first = self.by_prefix.get(&prefix)?.first()?;
        let wider = || self.local_network(prefix).and_then(|wider| self.by_prefix.get(&wider)?.first());
        let route = if first.local_table { first } else { wider().unwrap_or(first) };
        Some(&route.forwarding)
    }

    /// What it does with packets to an address: the entry of the longest prefix.
    pub fn lookup(&self, address: IpAddr) -> Option<(Prefix, &Forwarding)> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        if let Some(wide) = self.local_network(Prefix::host(address)) {
            return Some((wide, self.get(wide)?));
        }
        (0..=bits).rev().map(|length| Prefix::new(address, length)).find_map(|p| Some((p, self.get(p)?)))
    }

    /// The prefixes of a table that is neither the main nor the local one, and what the kernel does with packets to them.
    pub fn of_table(&self, table: u32) -> impl Iterator<Item = (Prefix, &Forwarding)> {
        let routes = self.others.get(&table).into_iter().flatten();
        routes.filter_map(|(prefix, routes)| Some((*prefix, &routes.first()?.forwarding)))
    }

    /// What the kernel does with packets to a prefix that are looked up in such a table, longer prefixes aside.
    pub fn get_in(&self, table: u32, prefix: Prefix) -> Option<&Forwarding> {
        Some(&self.others.get(&table)?.get(&prefix)?.first()?.forwarding)
    }

    /// What it does with packets to an address that are looked up in such a table: the entry of the longest prefix.
    pub fn lookup_in(&self, table: u32, address: IpAddr) -> Option<(Prefix, &Forwarding)> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefixes = (0..=bits).rev().map(|length| Prefix::new(address, length));
        prefixes.into_iter().find_map(|prefix| Some((prefix, self.get_in(table, prefix)?)))
    }

    /// How many prefixes such a table has.
    pub fn size_of_table(&self, table: u32) -> usize {
        self.others.get(&table).map_or(0, HashMap::len)
    }

    /// Whether the local table has a route of a prefix.
    pub fn is_local(&self, prefix: Prefix) -> bool {
        self.by_prefix.get(&prefix).and_then(|routes| routes.first()).is_some_and(|route| route.local_table)
    }

    /// The longest prefix of the local table that is shorter than a prefix and covers it.
    fn local_network(&self, prefix: Prefix) -> Option<Prefix> {
        let shorter = self.wide.iter().rev().filter(|(length, _)| *length < prefix.length);
        let mut wide = shorter.map(|(length, address)| Prefix { address: *address, length: *length });
        wide.find(|wide| wide.address.is_ipv4() == prefix.address.is_ipv4() && wide.contains(prefix.address))
    }

    /// The prefixes that may be forwarded differently after a prefix's routes have changed: those that it covers, too, if it is in the
    /// local table.
    pub(super) fn affected_by(&self, prefix: Prefix) -> Vec<Prefix> {
        if !self.wide.contains(&(prefix.length, prefix.address)) {
            return vec![prefix];
        }
        let covered = self.prefixes().filter(|p| prefix.length < p.length && prefix.contains(p.address));
        covered.chain([prefix]).collect()
    }

    /// Takes note of whether the local table has a route of a prefix.
    fn note_wide(&mut self, prefix: Prefix) {
        let host = prefix == Prefix::host(prefix.address);
        if !host && self.is_local(prefix) {
            self.wide.insert((prefix.length, prefix.address));
        } else if !self.wide.is_empty() {
            self.wide.remove(&(prefix.length, prefix.address));
        }
    }

    /// All prefixes that have routes.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix> {
        self.by_prefix.keys().copied()
    }

    /// How many prefixes have routes.
    pub fn len(&self) -> usize {
        self.by_prefix.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_prefix.is_empty()
    }

    /// Whether a route refers to this next-hop object.
    pub(super) fn refer_to(&self, object: u32) -> bool {
        self.uses.objects.contains_key(&object)
    }

    /// The objects that routes refer to, with the number of routes.
    #[cfg(test)]
    pub(super) fn objects(&self) -> &HashMap<u32, usize> {
        &self.uses.objects
    }

    /// Whether a route has next hops that the kernel does not use at present.
    pub(super) fn have_dead(&self) -> bool {
        self.uses.dead > 0
    }

    /// Takes up a new or changed route. Returns where it is, if packets may be forwarded differently now.
    pub(super) fn add(&mut self, message: &RouteMessage, flags: u16) -> Option<ChangedRoute> {
        let (table, prefix, route) = read(message)?;
        let ipv6 = prefix.address.is_ipv6();
        let routes = match table {
            MAIN | LOCAL => &mut self.by_prefix,
            table => self.others.entry(table).or_default(),
        };
        let routes = routes.entry(prefix).or_default();
        let rank = route.rank();
        // IPv6 reports all next hops of a route that gets one more.
        let grows = |route: &Route| {
            let hops = &route.forwarding.next_hops;
            ipv6 && route.object.is_none() && !hops.is_empty() && hops.iter().all(|hop| hop.gateway.is_some())
        };
        let replaces = |old: &Route| {
            old.rank() == rank && (flags & NLM_F_REPLACE != 0 || *old == route || grows(old) && grows(&route))
        };
        self.uses.add(&route);
        let place = match routes.iter().position(replaces) {
            Some(place) => {
                let old = std::mem::replace(&mut routes[place], route);
                self.uses.remove(&old);
                place
            }
            None => {
                let behind = ipv6 || flags & NLM_F_APPEND != 0;
                let place = routes.partition_point(|old| old.rank() < rank || (behind && old.rank() == rank));
                routes.insert(place, route);
                place
            }
        };
        // The kernel has no route twice: this one was read before its notification came.
        if let Some(behind) = routes[place + 1..].iter().position(|other| *other == routes[place]) {
            let twice = routes.remove(place + 1 + behind);
            self.uses.remove(&twice);
        }
        if !matches!(table, MAIN | LOCAL) {
            return Some(ChangedRoute::OtherTable(table, prefix));
        }
        self.note_wide(prefix);
        Some(ChangedRoute::Prefix(prefix))
    }

    /// Takes up that a route is gone. Returns where it was, if packets may be forwarded differently now.
    pub(super) fn remove(&mut self, message: &RouteMessage) -> Option<ChangedRoute> {
        let (table, prefix, gone) = read(message)?;
        let (by_prefix, at) = match table {
            MAIN | LOCAL => (&mut self.by_prefix, ChangedRoute::Prefix(prefix)),
            table => (self.others.get_mut(&table)?, ChangedRoute::OtherTable(table, prefix)),
        };
        let routes = by_prefix.get_mut(&prefix)?;
        let rank = gone.rank();
        let same = |old: &Route| old.rank() == rank && old.forwarding.kind == gone.forwarding.kind;
        let exact = routes.iter().position(|old| same(old) && old.is(&gone) && old.origin == gone.origin);
        let alike = || routes.iter().position(|old| same(old) && old.is(&gone));
        let part = || routes.iter().position(|old| same(old) && prefix.address.is_ipv6() && old.covers(&gone));
        let place = exact.or_else(alike).or_else(part)?;
        let old = &mut routes[place];
        let rest = old.forwarding.next_hops.iter().filter(|hop| {
            !gone.forwarding.next_hops.iter().any(|theirs| (hop.device, hop.gateway) == (theirs.device, theirs.gateway))
        });
        let rest: Box<[NextHop]> = rest.copied().collect();
        if !rest.is_empty() && old.object.is_none() {
            self.uses.remove(old);
            old.forwarding.next_hops = rest;
            self.uses.add(old);
            return Some(at);
        }
        let old = routes.remove(place);
        if routes.is_empty() {
            by_prefix.remove(&prefix);
        }
        self.uses.remove(&old);
        if matches!(table, MAIN | LOCAL) {
            self.note_wide(prefix);
        } else if self.others.get(&table).is_some_and(HashMap::is_empty) {
            self.others.remove(&table);
        }
        Some(at)
    }

    /// The prefixes that these routes treat differently from others.
    pub(super) fn changed_from(&self, before: &Routes) -> Vec<Prefix> {
        let new = self.prefixes().filter(|p| self.get(*p) != before.get(*p));
        let gone = before.prefixes().filter(|p| !self.by_prefix.contains_key(p));
        new.chain(gone).collect()
    }
}

/// Where a route is that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangedRoute {
    /// In the main or the local table.
    Prefix(Prefix),
    OtherTable(u32, Prefix),
}

/// A route of a message, with its table; none if it is a copy in a cache.
fn read(message: &RouteMessage) -> Option<(u32, Prefix, Route)> {
    let header = &message.header;
    let find = |found: fn(&RouteAttribute) -> Option<u32>| message.attributes.iter().find_map(found);
    let table = find(|a| if let RouteAttribute::Table(table) = a { Some(*table) } else { None });
    let table = table.unwrap_or(header.table.into());
    if header.flags.contains(RouteFlags::Cloned) {
        return None;
    }
    let selector = (header.tos, header.source_prefix_length);
    let prefix = prefix(message)?;
    let prefix = Prefix::new(prefix.address, prefix.length);
    let mut kind = match header.kind {
        RouteType::Unicast => RouteKind::Unicast,
        RouteType::Local | RouteType::Broadcast | RouteType::Anycast | RouteType::Multicast => RouteKind::Local,
        RouteType::BlackHole => RouteKind::Blackhole,
        RouteType::Unreachable | RouteType::Prohibit => RouteKind::Unreachable,
        RouteType::Throw => RouteKind::KernelOnly,
        _ => return None,
    };
    let metric = find(|a| if let RouteAttribute::Priority(metric) = a { Some(*metric) } else { None });
    let mtu = message.attributes.iter().find_map(|a| match a {
        RouteAttribute::Metrics(metrics) => metrics.iter().find_map(|metric| match metric {
            RouteMetric::Mtu(mtu) if *mtu > 0 => Some(*mtu),
            _ => None,
        }),
        _ => None,
    });
    let next_hops = if kind == RouteKind::Unicast { next_hops(message) } else { Box::default() };
    let object = find(|a| if let RouteAttribute::NhId(id) = a { Some(*id) } else { None });
    if kind == RouteKind::Unicast && object.is_some() && next_hops.is_empty() || selector != (0, 0) {
        kind = RouteKind::KernelOnly;
    }
    let source = message.attributes.iter().find_map(|a| match a {
        RouteAttribute::PrefSource(RouteAddress::Inet(ip)) => Some(IpAddr::V4(*ip)),
        RouteAttribute::PrefSource(RouteAddress::Inet6(ip)) => Some(IpAddr::V6(*ip)),
        _ => None,
    });
    let origin = Origin { protocol: header.protocol, scope: header.scope, source };
    let forwarding = Forwarding { kind, next_hops, mtu };
    let (local_table, metric) = (table == LOCAL, metric.unwrap_or(0));
    Some((table, prefix, Route { local_table, selector, metric, forwarding, object, origin }))
}

fn next_hops(message: &RouteMessage) -> Box<[NextHop]> {
    let several = message.attributes.iter().find_map(|a| match a {
        RouteAttribute::MultiPath(hops) => Some(hops),
        _ => None,
    });
    match several {
        Some(hops) => hops.iter().take(MAX_NEXT_HOPS).map(next_hop).collect(),
        None => {
            let dead = header_flags(message).contains(RouteNextHopFlags::Dead);
            let device = message.attributes.iter().find_map(|a| match a {
                RouteAttribute::Oif(index) => Some(*index),
                _ => None,
            });
            let hop = device.map(|device| of(device, 1, dead, &message.attributes));
            hop.into_iter().collect()
        }
    }
}

/// The lower bits of a route's flags are those of its only next hop.
fn header_flags(message: &RouteMessage) -> RouteNextHopFlags {
    RouteNextHopFlags::from_bits_retain(message.header.flags.bits() as u8)
}

fn next_hop(hop: &RouteNextHop) -> NextHop {
    let dead = hop.flags.contains(RouteNextHopFlags::Dead);
    of(hop.interface_index, u16::from(hop.hops) + 1, dead, &hop.attributes)
}

fn of(device: u32, weight: u16, dead: bool, attributes: &[RouteAttribute]) -> NextHop {
    let mut hop = NextHop { device, gateway: None, weight, dead, encapsulated: false };
    for attribute in attributes {
        match attribute {
            RouteAttribute::Gateway(RouteAddress::Inet(ip)) => hop.gateway = Some(IpAddr::V4(*ip)),
            RouteAttribute::Gateway(RouteAddress::Inet6(ip)) => hop.gateway = Some(IpAddr::V6(*ip)),
            RouteAttribute::Via(RouteVia::Inet(ip)) => hop.gateway = Some(IpAddr::V4(*ip)),
            RouteAttribute::Via(RouteVia::Inet6(ip)) => hop.gateway = Some(IpAddr::V6(*ip)),
            attribute => hop.encapsulated |= encapsulates(attribute),
        }
    }
    hop
}

/// What asks for all routes of both protocols, one after the other.
pub(super) fn queries() -> [RouteMessage; 2] {
    [AddressFamily::Inet, AddressFamily::Inet6].map(|family| {
        let mut query = RouteMessage::default();
        query.header.address_family = family;
        query
    })
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::NLM_F_CREATE;
    use std::net::Ipv6Addr;

    use super::super::message::family;
    use super::*;

    fn message(destination: &str, length: u8, metric: u32, hops: &[(u32, &str)]) -> RouteMessage {
        let mut message = RouteMessage::default();
        let address: IpAddr = destination.parse().unwrap();
        message.header.address_family = family(address);
        message.header.destination_prefix_length = length;
        message.header.table = MAIN as u8;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![RouteAttribute::Destination(address.into()), RouteAttribute::Priority(metric)];
        let gateway = |text: &str| text.parse::<IpAddr>().ok().map(|ip| RouteAttribute::Gateway(ip.into()));
        match hops {
            [(device, via)] => {
                message.attributes.push(RouteAttribute::Oif(*device));
                message.attributes.extend(gateway(via));
            }
            several => {
                let hop = |(device, via): &(u32, &str)| {
                    let mut hop = RouteNextHop::default();
                    hop.interface_index = *device;
                    hop.attributes.extend(gateway(via));
                    hop
                };
                message.attributes.push(RouteAttribute::MultiPath(several.iter().map(hop).collect()));
            }
        }
        message
    }

    fn prefix_of(text: &str, length: u8) -> Prefix {
        Prefix { address: text.parse().unwrap(), length }
    }

    fn devices(routes: &Routes, prefix: Prefix) -> Vec<u32> {
        routes.get(prefix).map_or(vec![], |f| f.next_hops.iter().map(|hop| hop.device).collect())
    }

    #[test]
    fn the_lowest_metric_counts() {
        let mut routes = Routes::default();
        let at = prefix_of("10.0.0.0", 8);
        for (metric, device) in [(20, 2), (10, 1), (30, 3)] {
            assert_eq!(
                routes.add(&message("10.0.0.0", 8, metric, &[(device, "192.0.2.1")]), NLM_F_CREATE),
                Some(ChangedRoute::Prefix(at))
            );
        }
        assert_eq!(devices(&routes, at), [1]);
        routes.remove(&message("10.0.0.0", 8, 10, &[(1, "192.0.2.1")]));
        assert_eq!(devices(&routes, at), [2]);
        // One that is not there.
        assert_eq!(routes.remove(&message("10.0.0.0", 8, 10, &[(1, "192.0.2.1")])), None);
        routes.add(&message("10.0.0.0", 8, 20, &[(7, "192.0.2.7")]), NLM_F_REPLACE);
        assert_eq!(devices(&routes, at), [7]);
        routes.remove(&message("10.0.0.0", 8, 30, &[(3, "192.0.2.1")]));
        routes.remove(&message("10.0.0.0", 8, 20, &[(7, "192.0.2.7")]));
        assert!(routes.is_empty());
    }

    #[test]
    fn ipv6_routes_get_and_lose_next_hops_one_by_one() {
        let mut routes = Routes::default();
        let at = prefix_of("2001:db8::", 32);
        routes.add(&message("2001:db8::", 32, 20, &[(1, "fe80::1")]), NLM_F_CREATE);
        routes.add(&message("2001:db8::", 32, 20, &[(1, "fe80::1"), (2, "fe80::2"), (3, "fe80::3")]), NLM_F_APPEND);
        assert_eq!(devices(&routes, at), [1, 2, 3]);
        routes.remove(&message("2001:db8::", 32, 20, &[(2, "fe80::2")]));
        assert_eq!(devices(&routes, at), [1, 3]);
        routes.remove(&message("2001:db8::", 32, 20, &[(1, "fe80::1"), (3, "fe80::3")]));
        assert!(routes.is_empty());
        // Networks of the same prefix on two links.
        routes.add(&message("2001:db8::", 64, 256, &[(1, "")]), NLM_F_CREATE);
        routes.add(&message("2001:db8::", 64, 256, &[(2, "")]), NLM_F_CREATE);
        let at = prefix_of("2001:db8::", 64);
        assert_eq!(devices(&routes, at), [1]);
        routes.remove(&message("2001:db8::", 64, 256, &[(1, "")]));
        assert_eq!(devices(&routes, at), [2]);
    }

    #[test]
    fn the_local_table_comes_first_and_others_do_not_count() {
        let mut routes = Routes::default();
        let at = prefix_of("10.0.0.1", 32);
        routes.add(&message("10.0.0.1", 32, 0, &[(1, "192.0.2.1")]), NLM_F_CREATE);
        let mut local = message("10.0.0.1", 32, 500, &[(2, "")]);
        local.header.table = LOCAL as u8;
        local.header.kind = RouteType::Local;
        routes.add(&local, NLM_F_CREATE);
        assert_eq!(routes.get(at).unwrap().kind, RouteKind::Local);
        for change in [
            |m: &mut RouteMessage| m.header.table = 77,
            |m: &mut RouteMessage| m.attributes.push(RouteAttribute::Table(1000)),
        ] {
            let mut other = message("10.9.0.0", 16, 0, &[(1, "192.0.2.1")]);
            change(&mut other);
            assert!(matches!(routes.add(&other, NLM_F_CREATE), Some(ChangedRoute::OtherTable(77 | 1000, _))));
        }
        assert_eq!((routes.size_of_table(77), routes.size_of_table(1000), routes.size_of_table(5)), (1, 1, 0));
        let mut cached = message("10.9.0.0", 16, 0, &[(1, "192.0.2.1")]);
        cached.header.flags = RouteFlags::Cloned;
        assert_eq!(routes.add(&cached, NLM_F_CREATE), None);
        let mut gone = message("10.9.0.0", 16, 0, &[(1, "192.0.2.1")]);
        gone.header.table = 77;
        assert_eq!(routes.of_table(77).map(|(prefix, _)| prefix).collect::<Vec<_>>(), [prefix_of("10.9.0.0", 16)]);
        let (network, host) = (prefix_of("10.9.0.0", 16), "10.9.7.1".parse().unwrap());
        assert_eq!(routes.lookup_in(77, host).map(|(prefix, _)| prefix), Some(network));
        assert_eq!((routes.get_in(78, network), routes.lookup_in(77, at.address)), (None, None));
        assert_eq!(routes.remove(&gone), Some(ChangedRoute::OtherTable(77, network)));
        assert_eq!((routes.size_of_table(77), routes.remove(&gone)), (0, None));
        assert_eq!(routes.len(), 1);
        let (found, forwarding) = routes.lookup(at.address).unwrap();
        assert_eq!((found, forwarding.kind), (at, RouteKind::Local));
        assert_eq!(routes.lookup("10.0.0.2".parse().unwrap()), None);
    }

    #[test]
    fn references_to_next_hop_objects_are_counted() {
        let mut routes = Routes::default();
        let of = |id: u32, destination: &str| {
            let mut m = message(destination, 24, 0, &[(1, "192.0.2.1")]);
            m.attributes.push(RouteAttribute::NhId(id));
            m
        };
        routes.add(&of(5, "10.0.1.0"), NLM_F_CREATE);
        routes.add(&of(5, "10.0.2.0"), NLM_F_CREATE);
        routes.add(&of(6, "10.0.2.0"), NLM_F_REPLACE);
        assert!(routes.refer_to(5) && routes.refer_to(6));
        routes.remove(&of(5, "10.0.1.0"));
        assert!(!routes.refer_to(5) && routes.refer_to(6));
    }

    #[test]
    fn hostile_values() {
        let mut routes = Routes::default();
        // A prefix longer than the address, bits behind the prefix, a device that there is not, no next hop at all.
        let mut long = message("10.0.0.1", 255, u32::MAX, &[(u32::MAX, "10.0.0.1")]);
        assert_eq!(routes.add(&long, 0xffff), Some(ChangedRoute::Prefix(prefix_of("10.0.0.1", 32))));
        long.header.destination_prefix_length = 8;
        assert_eq!(routes.add(&long, 0), Some(ChangedRoute::Prefix(prefix_of("10.0.0.0", 8))));
        routes.add(&message("::1", 255, 0, &[]), 0);
        assert_eq!(devices(&routes, prefix_of("::1", 128)), Vec::<u32>::new());
        // Addresses of the other protocol.
        let mut mixed = message("10.0.0.0", 8, 0, &[(1, "fe80::1")]);
        mixed.attributes[0] = RouteAttribute::Destination(Ipv6Addr::LOCALHOST.into());
        assert_eq!(routes.add(&mixed, 0), Some(ChangedRoute::Prefix(prefix_of("::", 8))));
        let many: Vec<(u32, &str)> = (0..5000).map(|device| (device, "10.0.0.1")).collect();
        routes.add(&message("10.8.0.0", 16, 0, &many), 0);
        assert_eq!(devices(&routes, prefix_of("10.8.0.0", 16)).len(), MAX_NEXT_HOPS);
    }

    #[test]
    fn local_networks_come_before_longer_prefixes_of_the_main_table() {
        let mut routes = Routes::default();
        let prefix = |text: &str, length| Prefix::new(text.parse().unwrap(), length);
        routes.add(&message("192.168.1.128", 25, 0, &[(2, "10.0.0.1")]), NLM_F_CREATE);
        routes.add(&message("192.169.0.0", 16, 0, &[(2, "10.0.0.1")]), NLM_F_CREATE);
        let mut local = message("192.168.0.0", 16, 0, &[]);
        (local.header.table, local.header.kind) = (LOCAL as u8, RouteType::Local);
        let (wide, long) = (prefix("192.168.0.0", 16), prefix("192.168.1.128", 25));
        assert_eq!(routes.affected_by(wide), [wide]);
        assert_eq!(routes.add(&local, NLM_F_CREATE), Some(ChangedRoute::Prefix(wide)));
        let mut affected = routes.affected_by(wide);
        affected.sort_by_key(|prefix| prefix.length);
        assert_eq!(affected, [wide, long]);
        let kind =
            |routes: &Routes, address: &str| routes.lookup(address.parse().unwrap()).map(|(_, found)| found.kind);
        assert_eq!(routes.get(long).unwrap().kind, RouteKind::Local);
        assert_eq!(kind(&routes, "192.168.1.129"), Some(RouteKind::Local));
        assert_eq!(kind(&routes, "192.169.1.129"), Some(RouteKind::Unicast));
        routes.remove(&local);
        assert_eq!(routes.get(long).unwrap().kind, RouteKind::Unicast);
        assert_eq!((kind(&routes, "192.168.1.129"), kind(&routes, "192.168.2.1")), (Some(RouteKind::Unicast), None));
    }

    #[test]
    fn routes_for_some_packets_are_the_kernels() {
        let mut routes = Routes::default();
        let prefix = Prefix::new("192.168.0.0".parse().unwrap(), 16);
        let plain = message("192.168.0.0", 16, 5, &[(2, "10.0.0.1")]);
        let mut for_tos = message("192.168.0.0", 16, 9, &[(3, "10.0.0.1")]);
        for_tos.header.tos = 8;
        routes.add(&plain, NLM_F_CREATE);
        routes.add(&for_tos, NLM_F_CREATE);
        assert_eq!(routes.get(prefix).unwrap().kind, RouteKind::KernelOnly);
        routes.remove(&for_tos);
        assert_eq!(routes.get(prefix).unwrap().kind, RouteKind::Unicast);
    }
}
