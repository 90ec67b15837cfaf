//! The forwarding information base: writes the kernel's routes and neighbours to the program's tables.
//!
//! A prefix's entry is, in this order: that of the kernel's route; for the address of a neighbour on a link of the
//! router, a host route to it; that which the program starts with; none.

pub(crate) mod next_hops;
mod refused;
mod rules;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hopwright_dataplane::ControlError;
use hopwright_host::netlink::{Forwarding, Prefix, RouteKind};
use hopwright_ir::{ActionCall, MatchValue, TableEntry};
use num_bigint::BigUint;

use crate::policy::RoutingTable;
use crate::program::{self, Interface, Kernel, Outcomes, Program, Reached, Reason, RouteTable, Vrf};
use crate::show::{self, RouterState};
use crate::threads::Counters;
pub(crate) use next_hops::exact;
use next_hops::{HopKey, NextHops, Numbers};
use refused::{Refused, Short};
use rules::Rules;
pub(crate) use view::{Destination, Interfaces, View};

/// Prefixes whose entries are the program's own: loopback, link-local unicast and multicast addresses. The kernel has
/// such routes on every link.
const RESERVED: [(&str, u8); 5] = [("127.0.0.0", 8), ("224.0.0.0", 4), ("::1", 128), ("fe80::", 10), ("ff00::", 8)];

/// What a prefix's packets shall meet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Via(HopKey),
    Multipath(Vec<(HopKey, u16)>),
    End(Reason),
}

/// What is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Installed {
    Via { hop: u16, counter: u32 },
    Multipath { group: u16, counter: u32 },
    End(Reason),
}

impl Installed {
    /// The action of an entry that leads there.
    fn action(self, outcomes: &Outcomes) -> ActionCall {
        match self {
            Installed::Via { hop, counter } => outcomes.via(hop, counter),
            Installed::Multipath { group, counter } => outcomes.multipath(group, counter),
            Installed::End(reason) => outcomes.end(reason),
        }
    }

    fn counter(self) -> u32 {
        match self {
            Installed::Via { counter, .. } | Installed::Multipath { counter, .. } => counter,
            Installed::End(_) => 0,
        }
    }
}

/// The program's tables, and what has been written to them.
#[derive(Debug)]
pub(crate) struct Fib {
    program: Program,
    reserved: Vec<Prefix>,
    /// Entries that the program starts with.
    initial: HashMap<Prefix, ActionCall>,
    installed: HashMap<Destination, Installed>,
    /// Numbers of VRFs, by the kernel's numbers of their tables.
    vrfs: BTreeMap<u32, u16>,
    vrf_numbers: Numbers,
    /// VLANs that have an entry.
    vlans: HashMap<Interface, TableEntry>,
    /// Prefixes of the router's own addresses, which are no sources of packets that it forwards.
    own: HashSet<Prefix>,
    /// Where routes to sources lead, while sources are checked.
    sources: Option<HashMap<Prefix, Reached>>,
    /// Of IPv4 and IPv6.
    rules: [Rules; 2],
    hops: NextHops,
    /// Carriers have come or gone since this was last asked.
    carriers_changed: bool,
    route_counters: Numbers,
    refused: Refused,
    counters: Arc<Counters>,
}

impl Fib {
    /// Brings the tables to where the program starts.
    pub(crate) fn new(program: Program, counters: Arc<Counters>) -> Result<Fib, ControlError> {
        let control = &program.control;
        let pipeline = control.pipeline();
        let mut initial = HashMap::new();
        for routes in [program.ipv4, program.ipv6].into_iter().flatten() {
            control[routes.id].clear()?;
            for entry in &pipeline[routes.id].entries {
                initial.extend(prefix_of(routes, entry).map(|prefix| (prefix, entry.action.clone())));
                control[routes.id].insert(entry.clone())?;
            }
        }
        let redirects = program.redirects(0).map(|(table, _)| table);
        let rules = [false, true].into_iter().filter_map(|ipv6| Some(program.rules(ipv6)?.id));
        for table in [program.ports, program.groups, program.next_hops]
            .into_iter()
            .chain(redirects)
            .chain(rules)
            .chain(program.sources())
            .chain(program.vlans())
            .chain([false, true].into_iter().filter_map(|ipv6| Some(program.vrf_routes(ipv6)?.id)))
        {
            control[table].clear()?;
        }
        if let Some((martians, _)) = program.martian() {
            control[martians].clear()?;
            pipeline[martians].entries.iter().try_for_each(|entry| control[martians].insert(entry.clone()))?;
        }
        if let Some(selector) = pipeline[program.groups].implementation {
            let selector = control.profile(selector)?;
            selector.groups().into_iter().try_for_each(|(id, _)| selector.delete_group(id))?;
            selector.members().into_iter().try_for_each(|(id, _)| selector.delete_member(id))?;
        }
        let reserved = RESERVED.iter().filter_map(|(ip, length)| Some(Prefix::new(ip.parse().ok()?, *length)));
        Ok(Fib {
            reserved: reserved.collect(),
            initial,
            installed: HashMap::new(),
            vrfs: BTreeMap::new(),
            vrf_numbers: Numbers::up_to(u16::MAX.into()),
            vlans: HashMap::new(),
            own: HashSet::new(),
            sources: None,
            rules: Default::default(),
            hops: NextHops::new(),
            carriers_changed: false,
            route_counters: Numbers::up_to(program.route_counters.saturating_sub(1)),
            refused: Refused::default(),
            program,
            counters,
        })
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn next_hops(&mut self) -> &mut NextHops {
        &mut self.hops
    }

    /// Has the router accept frames to an Ethernet address at a port, and tell who sends to it of better first hops. What the kernel must
    /// see is handed over.
    pub(crate) fn set_port(
        &self,
        number: u32,
        mac: [u8; 6],
        hash_seed: u32,
        kernel: Kernel,
        vrf: Option<Vrf>,
    ) -> Result<(), ControlError> {
        let table = &self.program.control[self.program.ports];
        let matches = vec![MatchValue::Exact(number.into())];
        put(table, TableEntry { matches, priority: 0, action: self.program.receive(mac, hash_seed, kernel, vrf) })?;
        match self.program.redirects(number) {
            Some((table, entry)) => put(&self.program.control[table], entry),
            None => Ok(()),
        }
    }

    /// Has the router ignore what comes by a port.
    pub(crate) fn close_port(&self, number: u32) -> Result<(), ControlError> {
        let table = &self.program.control[self.program.ports];
        match table.get(&[MatchValue::Exact(number.into())], 0) {
            Some(_) => table.delete(&[MatchValue::Exact(number.into())], 0),
            None => Ok(()),
        }
    }

    /// Has the router take frames of these VLANs, and leave those of others to the kernel. What a VLAN leaves to the kernel is handed over;
    /// nothing is taken of one that is down.
    pub(crate) fn set_vlans(
        &mut self,
        vlans: impl IntoIterator<Item = (Interface, Option<Kernel>, Option<Vrf>)>,
    ) -> Result<(), ControlError> {
        let Some(table) = self.program.vlans() else { return Ok(()) };
        let control = self.program.control.clone();
        let mut gone = std::mem::take(&mut self.vlans);
        let written = vlans.into_iter().try_for_each(|(interface, kernel, vrf)| {
            let Some(entry) = self.program.vlan(interface, kernel, vrf) else { return Ok(()) };
            if gone.remove(&interface).as_ref() != Some(&entry) {
                put(&control[table], entry.clone())?;
            }
            self.vlans.insert(interface, entry);
            Ok(())
        });
        gone.into_values().try_for_each(|entry| control[table].delete(&entry.matches, 0)).and(written)
    }

    /// Gives VRFs numbers. Their routes have to be brought up to date before packets are looked up there.
    pub(crate) fn add_vrfs(&mut self, tables: &BTreeSet<u32>) {
        for table in tables {
            if !self.vrfs.contains_key(table)
                && let Some(number) = self.vrf_numbers.take()
            {
                self.vrfs.insert(*table, number as u16);
            }
        }
    }

    /// Forgets other VRFs. They have no routes any more.
    pub(crate) fn retain_vrfs(&mut self, tables: &BTreeSet<u32>) {
        let gone: Vec<u32> = self.vrfs.keys().filter(|table| !tables.contains(table)).copied().collect();
        for table in gone {
            self.vrf_numbers.give(self.vrfs.remove(&table).unwrap_or_default().into());
        }
    }

    /// The number of the VRF that has a table.
    pub(crate) fn vrf(&self, table: u32) -> Option<u16> {
        self.vrfs.get(&table).copied()
    }

    /// Brings the entries of destinations, and of own addresses among them, up to date. What has no room is logged once; routes are
    /// counted, too.
    pub(crate) fn update(&mut self, view: &View<'_>, destinations: impl IntoIterator<Item = Destination>) {
        let (mut first, mut first_own) = (None, None);
        for destination in destinations {
            let prefix = destination.1;
            match self.update_own(view, prefix) {
                Ok(()) => self.refused.remove_own(prefix),
                Err(error) if self.refused.insert_own(prefix) => {
                    first_own.get_or_insert((prefix, error));
                }
                Err(_) => {}
            }
            match self.update_one(view, destination) {
                Ok(()) => {
                    self.refused.remove(destination);
                }
                Err(short) if self.refused.insert(destination, &short) => {
                    self.counters.refused.fetch_add(1, Relaxed);
                    first.get_or_insert((prefix, short));
                }
                Err(_) => {}
            }
        }
        if let Some((prefix, Short::Absent(error) | Short::Punted(error))) = first {
            tracing::error!("route {}/{}: {error}; there may be more", prefix.address, prefix.length);
        }
        if let Some((prefix, error)) = first_own {
            tracing::error!("own address {}/{}: {error}; there may be more", prefix.address, prefix.length);
        }
        self.counters.routes.store(self.installed.len() as u64, Relaxed);
        self.counters.next_hops.store(self.hops.len() as u64, Relaxed);
        self.counters.groups.store(self.hops.group_count() as u64, Relaxed);
    }

    /// All destinations that have entries of the kernel's.
    pub(crate) fn destinations(&self) -> Vec<Destination> {
        self.installed.keys().copied().collect()
    }

    /// Says which ports are without carrier. Their next hops leave their groups.
    pub(crate) fn set_dark(&mut self, dark: HashSet<u32>) -> Result<(), ControlError> {
        self.carriers_changed = true;
        self.hops.set_dark(&self.program, dark)
    }

    /// Whether [`Fib::set_dark`] has been called since the last call.
    pub(crate) fn take_carriers_changed(&mut self) -> bool {
        std::mem::take(&mut self.carriers_changed)
    }

    /// Adds what is in the tables. `names`: of devices, by their index.
    pub(crate) fn describe(&self, state: &mut RouterState, names: &HashMap<u32, String>, routes: bool) {
        state.next_hops.extend(self.hops.iter().map(|(id, hop)| show::NextHop {
            id,
            address: hop.key.address.to_string(),
            device: names.get(&hop.key.device).cloned().unwrap_or_default(),
            mac: hop.forward.map(|forward| show::mac(forward.dst)),
            mtu: hop.forward.map(|forward| forward.mtu),
            packets: next_hops::packets(&self.program, id),
        }));
        state.groups.extend(self.hops.groups().map(|(id, hops)| show::Group { id, next_hops: hops.to_vec() }));
        state.route_count = self.installed.len();
        state.reasons.extend(program::reason_counts(&self.program.control));
        if routes {
            let does = |installed: &Installed| match installed {
                Installed::Via { hop, .. } => format!("next hop {hop}"),
                Installed::Multipath { group, .. } => format!("group {group}"),
                Installed::End(Reason::Blackhole) => "dropped: BLACKHOLE".into(),
                Installed::End(reason) => format!("punted: {}", reason.name()),
            };
            let mut all: Vec<_> = self.installed.iter().collect();
            all.sort_unstable_by_key(|((table, prefix), _)| (*table, prefix.address, prefix.length));
            let route = |((table, prefix), installed): (&Destination, &Installed)| show::Route {
                table: match table {
                    RoutingTable::Main => None,
                    RoutingTable::Vrf(table) => Some(*table),
                },
                prefix: format!("{}/{}", prefix.address, prefix.length),
                does: does(installed),
            };
            state.routes = all.into_iter().map(route).collect();
        }
    }

    /// Brings the entries of the next hops that `which` selects up to date.
    pub(crate) fn refresh(&mut self, view: &View<'_>, which: impl Fn(&HopKey) -> bool) {
        let selected = self.hops.iter().filter(|(_, hop)| which(&hop.key)).map(|(id, hop)| (id, hop.key));
        for (id, key) in selected.collect::<Vec<_>>() {
            if let Err(error) = self.hops.set(&self.program, id, view.forward(&key)) {
                tracing::error!("next hop {}: {error}", key.address);
            }
        }
    }

    /// The program's table for a destination, and the key in it; none if the program has no such table.
    fn place(&self, (table, prefix): Destination) -> Option<(RouteTable, Vec<MatchValue>)> {
        match table {
            RoutingTable::Main if prefix.address.is_ipv4() => Some((self.program.ipv4?, vec![lpm(prefix)])),
            RoutingTable::Main => Some((self.program.ipv6?, vec![lpm(prefix)])),
            RoutingTable::Vrf(table) => {
                let routes = self.program.vrf_routes(prefix.address.is_ipv6())?;
                Some((routes, vec![exact(self.vrf(table)?), lpm(prefix)]))
            }
        }
    }

    fn is_reserved(&self, prefix: Prefix) -> bool {
        self.reserved.iter().any(|r| r.length <= prefix.length && r.contains(prefix.address))
    }

    fn update_one(&mut self, view: &View<'_>, destination: Destination) -> Result<(), Short> {
        let Some((routes, matches)) = self.place(destination) else { return Ok(()) };
        let (in_table, prefix) = destination;
        if self.is_reserved(prefix) {
            return Ok(());
        }
        if in_table == RoutingTable::Main {
            self.update_source(view, prefix)?;
        }
        let before = self.installed.get(&destination).copied();
        let wanted = wanted(view, destination);
        if wanted.as_ref().map(|wanted| self.would_be(wanted, before)) == before.map(Some) {
            return Ok(());
        }
        let control = self.program.control.clone();
        let table = &control[routes.id];
        let initial = self.initial.get(&prefix).filter(|_| in_table == RoutingTable::Main).cloned();
        match wanted {
            Some(wanted) => {
                let (now, had_room) = match self.acquire(view, wanted, before) {
                    Ok(now) => (now, Ok(())),
                    Err(error) => (Installed::End(Reason::KernelRoute), Err(Short::Punted(error))),
                };
                if had_room.is_err() && before == Some(now) {
                    return had_room;
                }
                let entry = TableEntry { matches, priority: 0, action: now.action(&routes.outcomes) };
                let there = before.is_some() || initial.is_some();
                let written = if there { table.modify(entry) } else { table.insert(entry) };
                if let Err(error) = written {
                    let kept = before.map_or(0, Installed::counter);
                    self.release(now, kept)?;
                    return Err(error.into());
                }
                self.counters.changes.fetch_add(1, Relaxed);
                self.installed.insert(destination, now);
                before.map_or(Ok(()), |before| self.release(before, now.counter()))?;
                had_room
            }
            None => {
                match initial {
                    Some(action) => table.modify(TableEntry { matches, priority: 0, action })?,
                    None => table.delete(&matches, 0)?,
                }
                self.counters.changes.fetch_add(1, Relaxed);
                self.installed.remove(&destination);
                before.map_or(Ok(()), |before| self.release(before, 0))?;
                Ok(())
            }
        }
    }

    /// Sources that are the router's own are the kernel's to judge.
    fn update_own(&mut self, view: &View<'_>, prefix: Prefix) -> Result<(), ControlError> {
        if self.is_reserved(prefix) {
            return Ok(());
        }
        let own = prefix.address.is_ipv4() && view.is_own(prefix);
        let Some((table, action)) = self.program.martian().filter(|_| own != self.own.contains(&prefix)) else {
            return Ok(());
        };
        let (table, matches) = (&self.program.control[table], vec![lpm(prefix)]);
        if own {
            put(table, TableEntry { matches, priority: 0, action })?;
            self.own.insert(prefix);
        } else {
            table.delete(&matches, 0)?;
            self.own.remove(&prefix);
        }
        Ok(())
    }

    /// Whether where routes to sources lead is in the tables from now on. If so, prefixes have to be brought up to date.
    pub(crate) fn check_sources(&mut self, checked: bool) -> Result<(), ControlError> {
        let Some(table) = self.program.sources().filter(|_| checked != self.sources.is_some()) else { return Ok(()) };
        self.sources = checked.then(HashMap::new);
        self.program.control[table].clear()
    }

    fn update_source(&mut self, view: &View<'_>, prefix: Prefix) -> Result<(), ControlError> {
        let (Some(sources), Some(table)) = (&mut self.sources, self.program.sources()) else { return Ok(()) };
        if prefix.address.is_ipv6() {
            return Ok(());
        }
        let wanted = view.route((RoutingTable::Main, prefix)).map(|forwarding| view.reached(forwarding));
        if wanted.as_ref() == sources.get(&prefix) {
            return Ok(());
        }
        let (table, matches) = (&self.program.control[table], vec![lpm(prefix)]);
        match wanted {
            Some(reached) => {
                if let Some(action) = self.program.source(reached) {
                    put(table, TableEntry { matches, priority: 0, action })?;
                }
                sources.insert(prefix, reached);
            }
            None => {
                table.delete(&matches, 0)?;
                sources.remove(&prefix);
            }
        }
        Ok(())
    }

    /// What would be installed, if no next hop or group has to be made for it.
    fn would_be(&self, wanted: &Wanted, before: Option<Installed>) -> Option<Installed> {
        let counter = before.map_or(0, Installed::counter);
        Some(match wanted {
            Wanted::Via(key) => Installed::Via { hop: self.hops.find(key)?, counter },
            Wanted::Multipath(keys) => Installed::Multipath { group: self.hops.find_group(keys)?, counter },
            Wanted::End(reason) => Installed::End(*reason),
        })
    }

    /// Takes what an entry refers to; its counter is that of the entry before.
    fn acquire(
        &mut self,
        view: &View<'_>,
        wanted: Wanted,
        before: Option<Installed>,
    ) -> Result<Installed, ControlError> {
        let kept = before.map_or(0, Installed::counter);
        let counter = |numbers: &mut Numbers| if kept > 0 { kept } else { numbers.take().unwrap_or(0) };
        match wanted {
            Wanted::Via(key) => {
                let hop = self.hops.acquire(&self.program, key, |key| view.forward(key))?;
                Ok(Installed::Via { hop, counter: counter(&mut self.route_counters) })
            }
            Wanted::Multipath(keys) => {
                let mut hops = Vec::with_capacity(keys.len());
                for (key, weight) in keys {
                    match self.hops.acquire(&self.program, key, |key| view.forward(key)) {
                        Ok(hop) => hops.push((hop, weight)),
                        Err(error) => {
                            hops.iter().try_for_each(|(hop, _)| self.hops.release(&self.program, *hop))?;
                            return Err(error);
                        }
                    }
                }
                let group = self.hops.acquire_group(&self.program, hops)?;
                Ok(Installed::Multipath { group, counter: counter(&mut self.route_counters) })
            }
            Wanted::End(reason) => Ok(Installed::End(reason)),
        }
    }

    /// Gives back what an entry referred to, with its counter unless that is `kept`.
    fn release(&mut self, installed: Installed, kept: u32) -> Result<(), ControlError> {
        let counter = installed.counter();
        if counter != 0 && counter != kept {
            self.route_counters.give(counter);
        }
        match installed {
            Installed::Via { hop, .. } => self.hops.release(&self.program, hop),
            Installed::Multipath { group, .. } => self.hops.release_group(&self.program, group),
            Installed::End(_) => Ok(()),
        }
    }
}

/// What packets to a destination shall meet, as the kernel has it now.
fn wanted(view: &View<'_>, destination: Destination) -> Option<Wanted> {
    match view.route(destination) {
        Some(forwarding) => Some(of_route(view, destination.1, forwarding)),
        None => view.neighbour(destination).map(Wanted::Via),
    }
}

fn of_route(view: &View<'_>, prefix: Prefix, forwarding: &Forwarding) -> Wanted {
    match forwarding.kind {
        RouteKind::Local => return Wanted::End(Reason::Local),
        RouteKind::Blackhole => return Wanted::End(Reason::Blackhole),
        RouteKind::Unreachable => return Wanted::End(Reason::NoRoute),
        RouteKind::KernelOnly => return Wanted::End(Reason::KernelRoute),
        RouteKind::Unicast => {}
    }
    let host = prefix == Prefix::host(prefix.address);
    let mut keys = Vec::new();
    for hop in forwarding.next_hops.iter().filter(|hop| !hop.dead) {
        let Some(interface) = view.interface(hop.device).filter(|_| !hop.encapsulated) else {
            return Wanted::End(Reason::KernelRoute);
        };
        let address = match hop.gateway {
            Some(gateway) => gateway,
            None if host => prefix.address,
            // Neighbours of a link have host routes; the kernel looks for those that have none.
            None => return Wanted::End(Reason::Unresolved),
        };
        let ipv6 = prefix.address.is_ipv6();
        let key = HopKey { device: hop.device, port: interface.port, address, mtu: forwarding.mtu, ipv6 };
        keys.push((key, hop.weight));
    }
    match keys[..] {
        [] => Wanted::End(Reason::NoRoute),
        [(key, _)] => Wanted::Via(key),
        _ => Wanted::Multipath(keys),
    }
}

fn lpm(prefix: Prefix) -> MatchValue {
    let value = match prefix.address {
        std::net::IpAddr::V4(ip) => BigUint::from(ip.to_bits()),
        std::net::IpAddr::V6(ip) => BigUint::from(ip.to_bits()),
    };
    MatchValue::Lpm { value, prefix_len: prefix.length.into() }
}

/// The prefix of an entry.
fn prefix_of(routes: RouteTable, entry: &TableEntry) -> Option<Prefix> {
    let [MatchValue::Lpm { value, prefix_len }] = &entry.matches[..] else { return None };
    let bits: u128 = value.try_into().ok()?;
    let address =
        if routes.bits == 32 { u32::try_from(bits).ok()?.to_be_bytes().into() } else { bits.to_be_bytes().into() };
    Some(Prefix::new(address, u8::try_from(*prefix_len).ok()?))
}

/// Adds an entry or changes its action.
fn put(table: &hopwright_dataplane::Table, entry: TableEntry) -> Result<(), ControlError> {
    match table.insert(entry.clone()) {
        Err(ControlError::Duplicate(_)) => table.modify(entry),
        other => other,
    }
}
