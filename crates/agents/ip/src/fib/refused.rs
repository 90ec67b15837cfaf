//! Destinations for which the program's tables have no room. Their packets are the kernel's.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use hopwright_dataplane::ControlError;
use hopwright_host::netlink::Prefix;

use super::{Destination, Fib, RoutingTable};

/// The routes of a table for IPv4, or for IPv6 if this is true.
pub(crate) type Routes = (RoutingTable, bool);

/// How many destinations are tried again at a time.
const TRIES: usize = 4096;

/// Why a destination does not have the entry that it should have.
#[derive(Debug)]
pub(super) enum Short {
    /// It has none, or one that is not right any more.
    Absent(ControlError),
    /// It has one that leaves its packets to the kernel, for want of a next hop or a group.
    Punted(ControlError),
}

impl From<ControlError> for Short {
    fn from(error: ControlError) -> Short {
        Short::Absent(error)
    }
}

#[derive(Debug, Default)]
pub(super) struct Refused {
    absent: BTreeMap<Routes, HashSet<Prefix>>,
    punted: HashSet<Destination>,
}

fn routes_of((table, prefix): Destination) -> Routes {
    (table, prefix.address.is_ipv6())
}

impl Refused {
    /// Takes note of a destination. Returns whether it had its entry before.
    pub(super) fn insert(&mut self, destination: Destination, short: &Short) -> bool {
        let had = !self.remove(destination);
        match short {
            Short::Absent(_) => self.absent.entry(routes_of(destination)).or_default().insert(destination.1),
            Short::Punted(_) => self.punted.insert(destination),
        };
        had
    }

    /// Takes note that a destination has its entry. Returns whether it did not before.
    pub(super) fn remove(&mut self, destination: Destination) -> bool {
        let routes = routes_of(destination);
        let absent = self.absent.get_mut(&routes).is_some_and(|prefixes| prefixes.remove(&destination.1));
        self.absent.retain(|_, prefixes| !prefixes.is_empty());
        absent | self.punted.remove(&destination)
    }
}

impl Fib {
    /// The routes of which some have no entry, so that packets would meet others.
    pub(crate) fn incomplete(&self) -> BTreeSet<Routes> {
        self.refused.absent.keys().copied().collect()
    }

    /// Destinations to be tried again, because there may be room now.
    pub(crate) fn to_try_again(&self) -> Vec<Destination> {
        let pipeline = self.program.control.pipeline();
        let has_room = |(table, ipv6): Routes| {
            let routes = match (table, ipv6) {
                (RoutingTable::Main, false) => self.program.ipv4,
                (RoutingTable::Main, true) => self.program.ipv6,
                (RoutingTable::Vrf(_), _) => self.program.vrf_routes(ipv6),
            };
            routes.is_some_and(|routes| (self.program.control[routes.id].len() as u64) < pipeline[routes.id].size)
        };
        let with_room = self.refused.absent.iter().filter(|(routes, _)| has_room(**routes));
        let absent = with_room.flat_map(|((table, _), prefixes)| prefixes.iter().map(|prefix| (*table, *prefix)));
        absent.chain(self.refused.punted.iter().copied()).take(TRIES).collect()
    }
}
