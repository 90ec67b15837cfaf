//! Destinations for which the program's tables have no room. Their packets are the kernel's.

use std::collections::{BTreeMap, HashMap};

use hopwright_dataplane::ControlError;
use hopwright_host::netlink::Prefix;
use hopwright_ir::TableId;

use super::{Destination, Fib};
use crate::policy::{Incomplete, Routes, RoutingTable};

/// How many destinations of each kind are tried again at a time.
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

/// Destinations in the order of their last tries.
#[derive(Debug, Default)]
struct Queue {
    next: u64,
    in_order: BTreeMap<u64, Destination>,
    numbers: HashMap<Destination, u64>,
}

impl Queue {
    /// Adds a destination that is not there, at the end.
    fn push(&mut self, destination: Destination) {
        self.in_order.insert(self.next, destination);
        self.numbers.insert(destination, self.next);
        self.next += 1;
    }

    /// Returns whether it was there.
    fn remove(&mut self, destination: Destination) -> bool {
        let number = self.numbers.remove(&destination);
        number.is_some_and(|number| self.in_order.remove(&number).is_some())
    }

    fn first(&self, count: usize) -> impl Iterator<Item = Destination> {
        self.in_order.values().copied().take(count)
    }

    fn len(&self) -> usize {
        self.numbers.len()
    }
}

#[derive(Debug, Default)]
pub(super) struct Refused {
    absent: BTreeMap<Routes, Queue>,
    punted: Queue,
    /// Own addresses that are not in the table of sources that are not forwarded.
    own: Queue,
}

fn routes_of((table, prefix): Destination) -> Routes {
    (table, prefix.address.is_ipv6())
}

impl Refused {
    /// Takes note of a destination, whose turn is after all others. Returns whether it had its entry before.
    pub(super) fn insert(&mut self, destination: Destination, short: &Short) -> bool {
        let had = !self.remove(destination);
        match short {
            Short::Absent(_) => self.absent.entry(routes_of(destination)).or_default().push(destination),
            Short::Punted(_) => self.punted.push(destination),
        };
        had
    }

    /// Takes note that a destination has its entry. Returns whether it did not before.
    pub(super) fn remove(&mut self, destination: Destination) -> bool {
        let routes = routes_of(destination);
        let absent = self.absent.get_mut(&routes).is_some_and(|queue| queue.remove(destination));
        self.absent.retain(|_, queue| queue.len() > 0);
        absent | self.punted.remove(destination)
    }

    /// Takes note of an own address that is not in its table. Returns whether it was before.
    pub(super) fn insert_own(&mut self, prefix: Prefix) -> bool {
        let had = !self.own.remove((RoutingTable::Main, prefix));
        self.own.push((RoutingTable::Main, prefix));
        had
    }

    /// Takes note that an address is in its table, or is no own address any more.
    pub(super) fn remove_own(&mut self, prefix: Prefix) {
        self.own.remove((RoutingTable::Main, prefix));
    }

    /// How many there are for which packets are the kernel's besides their own, and how many others.
    fn backlog(&self) -> (usize, usize) {
        (self.absent.values().map(Queue::len).sum::<usize>() + self.own.len(), self.punted.len())
    }

    /// Those of each kind that have waited longest. `has_room`: for routes; `has_own_room`: for own addresses.
    fn to_try_again(&self, has_room: impl Fn(Routes) -> bool, has_own_room: bool) -> Vec<Destination> {
        let absent = self.absent.iter().filter(|(routes, _)| has_room(**routes)).map(|(_, queue)| queue);
        let own = Some(&self.own).filter(|_| has_own_room);
        absent.chain([&self.punted]).chain(own).flat_map(|queue| queue.first(TRIES)).collect()
    }
}

impl Fib {
    /// What there is no room for, if packets are not forwarded as the kernel would forward them.
    pub(crate) fn incomplete(&self) -> Incomplete {
        Incomplete { routes: self.refused.absent.keys().copied().collect(), own: self.refused.own.len() > 0 }
    }

    /// How much there is no room for. What is smaller is better.
    pub(crate) fn backlog(&self) -> (usize, usize) {
        self.refused.backlog()
    }

    /// Destinations to be tried again, because there may be room now.
    pub(crate) fn to_try_again(&self) -> Vec<Destination> {
        let control = &self.program.control;
        let has_entry_left = |table: TableId| (control[table].len() as u64) < control.pipeline()[table].size;
        let has_room = |(table, ipv6): Routes| {
            let routes = match (table, ipv6) {
                (RoutingTable::Main, false) => self.program.ipv4,
                (RoutingTable::Main, true) => self.program.ipv6,
                (RoutingTable::Vrf(_), _) => self.program.vrf_routes(ipv6),
            };
            routes.is_some_and(|routes| has_entry_left(routes.id))
        };
        let has_own_room = self.program.martian().is_some_and(|(table, _)| has_entry_left(table));
        self.refused.to_try_again(has_room, has_own_room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(number: usize) -> Destination {
        (RoutingTable::Main, Prefix::host(std::net::Ipv4Addr::from(number as u32).into()))
    }

    fn full() -> ControlError {
        ControlError::Full { table: "routes".into(), size: 1 }
    }

    /// What fails again waits for the others; neither kind waits for the other one.
    #[test]
    fn all_have_their_turn() {
        const MORE: usize = 10;
        let mut refused = Refused::default();
        let (absent, punted) = (0..TRIES + MORE, 2 * TRIES..3 * TRIES + MORE);
        for number in absent.clone() {
            assert!(refused.insert(destination(number), &Short::Absent(full())));
        }
        for number in punted.clone() {
            assert!(refused.insert(destination(number), &Short::Punted(full())));
        }
        let first = refused.to_try_again(|_| true, true);
        let expected = absent.clone().take(TRIES).chain(punted.clone().take(TRIES));
        assert_eq!(first, expected.map(destination).collect::<Vec<_>>());
        let (of_absent, of_punted) = first.split_at(TRIES);
        for destination in of_absent {
            assert!(!refused.insert(*destination, &Short::Absent(full())));
        }
        for destination in of_punted {
            assert!(!refused.insert(*destination, &Short::Punted(full())));
        }
        let second = refused.to_try_again(|_| true, true);
        let (of_absent, of_punted) = second.split_at(TRIES);
        assert_eq!(of_absent[..MORE], absent.clone().skip(TRIES).map(destination).collect::<Vec<_>>());
        assert_eq!(of_absent[MORE..], absent.take(TRIES - MORE).map(destination).collect::<Vec<_>>());
        assert_eq!(of_punted[..MORE], punted.skip(TRIES).map(destination).collect::<Vec<_>>());
        assert_eq!(refused.to_try_again(|_| false, true), of_punted);
    }

    /// Each kind counts once, and a route that has an entry again, though only for the kernel, is a step forward.
    #[test]
    fn the_backlog_shrinks_when_there_is_room() {
        let mut refused = Refused::default();
        refused.insert(destination(1), &Short::Absent(full()));
        assert!(refused.insert_own(destination(1).1));
        assert!(!refused.insert_own(destination(1).1));
        assert_eq!(refused.backlog(), (2, 0));
        refused.insert(destination(1), &Short::Punted(full()));
        assert_eq!(refused.backlog(), (1, 1));
        assert_eq!(refused.to_try_again(|_| true, false), [destination(1)]);
        assert!(refused.remove(destination(1)));
        assert_eq!(refused.to_try_again(|_| true, true), [destination(1)]);
        refused.remove_own(destination(1).1);
        assert_eq!(refused.backlog(), (0, 0));
        assert!(!refused.remove(destination(1)));
    }
}
