//! Follows the namespace's kernel, and keeps the program's tables like its routes and neighbours.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use hopwright_dataplane::ControlError;
use hopwright_dataplane::wait::{PollSet, Wakeup};
use hopwright_host::netlink::{Changes, Neighbour, Netlink, Prefix};

use crate::carrier::SharedFib;
use crate::fib::next_hops::{HopKey, packets};
use crate::fib::{Destination, Interfaces, View};
use crate::policy::{Incomplete, Policy, Punted, RoutingTable, Sources};
use crate::ports::{self, Port};
use crate::program::{Interface, Vrf};
use crate::show::{Request, RouterState};
use crate::threads::{Counters, Error, Stop};

/// How often next hops are looked after.
const UPKEEP: Duration = Duration::from_secs(1);
/// How many of them the kernel is asked about each time, so that changes do not wait.
const PROBES: usize = 256;
/// How often is read what the kernel does not report: settings, tables of iptables, policies of IPsec.
const POLICY: Duration = Duration::from_millis(250);
/// Prefixes whose entries are brought up to date in one go.
const PIECE: usize = 64;
/// Time between two readings of all routes, at least; also this many times as long as a reading takes.
const RELOAD_PAUSE: Duration = Duration::from_millis(100);
const RELOAD_SHARE: u32 = 4;
/// With more changed routes than this, every neighbour's host route is looked at instead of those that they cover.
const FEW_ROUTES: usize = 64;

/// The agent's half that writes tables.
pub(crate) struct Mirror {
    /// Where the switch's devices are.
    host: Netlink,
    /// The namespace.
    inside: Netlink,
    ports: Vec<Port>,
    /// They and their VLANs, as routes and next hops need them.
    interfaces: Interfaces,
    fib: Arc<SharedFib>,
    sources: Sources,
    policy: Policy,
    /// What the tables have no room for.
    incomplete: Incomplete,
    /// How often it was read.
    policy_readings: u64,
    next_policy: Instant,
    requests: Receiver<Request>,
    counters: Arc<Counters>,
    /// Routes may be missing; they are read anew when it is time.
    reload_wanted: bool,
    next_reload: Instant,
    next_upkeep: Instant,
    /// When what there was no room for is tried again.
    next_try: Instant,
    /// Where upkeep goes on.
    next_hop: u16,
}

impl Mirror {
    pub(crate) fn new(
        host: Netlink,
        inside: Netlink,
        sources: Sources,
        ports: Vec<Port>,
        fib: Arc<SharedFib>,
        counters: Arc<Counters>,
        requests: Receiver<Request>,
    ) -> Mirror {
        let now = Instant::now();
        Mirror {
            host,
            inside,
            ports,
            interfaces: Interfaces::default(),
            fib,
            sources,
            policy: Policy::default(),
            incomplete: Incomplete::default(),
            policy_readings: 0,
            next_policy: now,
            requests,
            counters,
            reload_wanted: false,
            next_reload: now,
            next_upkeep: now,
            next_try: now,
            next_hop: 0,
        }
    }

    /// Writes what there is.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        // The TAP devices have been set up meanwhile.
        self.inside.update().map_err(Error::Netlink)?;
        self.follow_policy(true).map_err(Error::Netlink)?;
        self.write_ports()?;
        self.update_all(&self.view());
        self.follow_room().map_err(Error::Netlink)
    }

    fn view(&self) -> View<'_> {
        View { netlink: &self.inside, interfaces: &self.interfaces }
    }

    /// Runs until it is stopped. `asked`: readable when there are requests.
    pub(crate) fn run(mut self, stop: &Stop, asked: &Wakeup) {
        let mut poll = PollSet::new();
        let fds = [stop.fd(), asked.as_raw_fd(), self.host.event_fd(), self.inside.event_fd()];
        fds.into_iter().chain(self.sources.event_fd()).for_each(|fd| poll.add(fd));
        while !stop.requested() {
            let mut next = self.next_upkeep.min(self.next_policy).min(self.next_try);
            if self.reload_wanted {
                next = next.min(self.next_reload);
            }
            poll.wait(next.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
            if let Err(error) = self.step() {
                tracing::error!(%error, "netlink failed: the tables do not follow the kernel any more");
                return;
            }
            asked.clear();
            while let Ok(request) = self.requests.try_recv() {
                // Nobody may wait for it any more.
                let _ = request.answer.send(self.state(request.routes));
            }
        }
    }

    fn step(&mut self) -> std::io::Result<()> {
        let changes = self.host.update()?;
        if changes.everything {
            self.follow_devices();
        }
        let mut changes = self.inside.update()?;
        let filters = self.sources.changed();
        self.follow_policy(changes.policy || filters)?;
        self.reload_wanted |= changes.lost_routes;
        if self.reload_wanted && Instant::now() >= self.next_reload {
            let begin = Instant::now();
            changes.routes.extend(self.inside.reload_routes()?);
            self.counters.reloads.fetch_add(1, Relaxed);
            self.read_other_tables(&mut changes);
            self.reload_wanted = false;
            self.next_reload = Instant::now() + RELOAD_PAUSE.max(begin.elapsed() * RELOAD_SHARE);
        }
        changes.everything |= self.fib.lock().take_carriers_changed();
        self.apply(&changes);
        if !changes.other_routes.is_empty() || changes.everything {
            self.follow_rules();
        }
        self.counters.overruns.store(self.inside.overruns(), Relaxed);
        self.counters.undecoded.store(self.inside.undecoded(), Relaxed);
        if Instant::now() >= self.next_upkeep {
            self.upkeep();
            self.next_upkeep = Instant::now() + UPKEEP;
        }
        if Instant::now() >= self.next_try {
            let pause = if self.try_again() { Duration::ZERO } else { UPKEEP };
            self.next_try = Instant::now() + pause;
        }
        self.follow_room()
    }

    fn apply(&mut self, changes: &Changes) {
        if changes.everything
            && let Err(error) = self.write_ports()
        {
            tracing::error!(%error, "port");
        }
        let view = self.view();
        // Next hops first: what leads to them comes when they are ready.
        match changes.everything {
            true => self.fib.lock().refresh(&view, |_| true),
            false => {
                for (device, address) in &changes.neighbours {
                    self.fib.lock().refresh(&view, |key| (key.device, key.address) == (*device, *address));
                }
            }
        }
        let of_vrfs = changes.other_routes.iter().map(|(table, prefix)| (RoutingTable::Vrf(*table), *prefix));
        let of_vrfs = of_vrfs.filter(|(table, _)| view.tables().any(|known| known == *table));
        let routes: Vec<Destination> =
            changes.routes.iter().map(|prefix| (RoutingTable::Main, *prefix)).chain(of_vrfs).collect();
        self.update(&view, routes.iter().copied());
        let hosts: Vec<IpAddr> = match routes.len() {
            0 if !changes.everything => Vec::new(),
            1..FEW_ROUTES if !changes.everything => {
                view.neighbours().filter(|ip| routes.iter().any(|(_, prefix)| prefix.contains(*ip))).collect()
            }
            _ => view.neighbours().collect(),
        };
        let changed = changes.neighbours.iter().map(|(_, address)| *address);
        let hosts = hosts.into_iter().chain(changed).map(Prefix::host);
        self.update(&view, hosts.flat_map(|host| view.in_all_tables(host)));
    }

    /// Brings the entries of destinations up to date, piece by piece: others may need the tables sooner.
    fn update(&self, view: &View<'_>, destinations: impl IntoIterator<Item = Destination>) {
        let mut destinations = destinations.into_iter().peekable();
        while destinations.peek().is_some() {
            self.fib.lock().update(view, destinations.by_ref().take(PIECE));
        }
    }

    /// Tries a part of what there was no room for again. Returns whether that helped, so that it may help others.
    fn try_again(&self) -> bool {
        let (before, again) = {
            let fib = self.fib.lock();
            (fib.backlog(), fib.to_try_again())
        };
        self.update(&self.view(), again);
        self.fib.lock().backlog() < before
    }

    /// Brings the entries of all destinations up to date.
    fn update_all(&self, view: &View<'_>) {
        let neighbours = view.neighbours().map(Prefix::host).flat_map(|host| view.in_all_tables(host));
        let installed = self.fib.lock().destinations();
        let all: HashSet<Destination> = view.destinations().chain(installed).chain(neighbours).collect();
        self.update(view, all);
    }

    /// Adds all routes of other tables to the changes.
    fn read_other_tables(&self, changes: &mut Changes) {
        let installed = self.fib.lock().destinations();
        let of_vrf = |(table, prefix): Destination| match table {
            RoutingTable::Main => None,
            RoutingTable::Vrf(table) => Some((table, prefix)),
        };
        let all: HashSet<_> = self.view().destinations().chain(installed).filter_map(of_vrf).collect();
        changes.other_routes.extend(all);
    }

    /// Has the TAP devices follow the ports' devices.
    fn follow_devices(&mut self) {
        for port in &mut self.ports {
            let done = match self.host.devices().get(&port.device) {
                Some(device) => port.follow(device, &mut self.inside),
                None => port.lost(),
            };
            if let Err(error) = done {
                tracing::warn!(port = port.number, %error, "the TAP device cannot follow its port");
            }
        }
    }

    /// Leaves to the kernel what the fast path cannot do as it does, and names it once. `notified`: something may have changed.
    fn follow_policy(&mut self, notified: bool) -> std::io::Result<()> {
        if Instant::now() < self.next_policy && !notified {
            return Ok(());
        }
        let tables = self.fib.lock().program().optional();
        let interfaces = ports::interfaces(&self.ports, &self.inside, self.fib.lock().program().vlans().is_some());
        let mut policy = self.sources.read(&mut self.inside, notified, tables, &interfaces)?;
        policy.leave_incomplete(&self.incomplete);
        self.policy_readings += 1;
        self.next_policy = Instant::now() + POLICY;
        if policy == self.policy && interfaces == self.interfaces.by_device {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.policy, policy);
        for punted in self.policy.punted.difference(&before.punted) {
            let Punted { port, vlan, packets, why } = punted;
            tracing::warn!(port, vlan, ?packets, "left to the kernel: {why}");
        }
        let policy = &self.policy;
        let closed = |interface: &Interface| policy.sends(*interface);
        let closed = interfaces.iter().filter(|(_, interface)| closed(interface)).map(|(device, _)| *device).collect();
        let mtus = interfaces.iter().filter_map(|(device, here)| Some((*device, *policy.mtus.get(here)?)));
        let (mtus, vrf_tables) = (mtus.collect(), policy.vrfs.values().copied().collect());
        let now = Interfaces { by_device: interfaces, closed, mtus, vrf_tables };
        let checked = !policy.check_sources.is_empty();
        let reroute = now.lead_elsewhere_than(&self.interfaces) || checked == before.check_sources.is_empty();
        self.interfaces = now;
        if let Err(error) = self.fib.lock().check_sources(checked) {
            tracing::error!(%error, "sources");
        }
        // The routes of a VRF are there before its packets are looked up in them, and go after that.
        let tables = &self.interfaces.vrf_tables;
        let added: Vec<u32> = tables.iter().filter(|table| self.fib.lock().vrf(**table).is_none()).copied().collect();
        self.fib.lock().add_vrfs(tables);
        let view = self.view();
        let added = |(table, _): &Destination| added.iter().any(|added| *table == RoutingTable::Vrf(*added));
        let neighbours = view.neighbours().map(Prefix::host).flat_map(|host| view.in_all_tables(host));
        self.update(&view, view.destinations().chain(neighbours).filter(added));
        if let Err(error) = self.write_ports() {
            tracing::error!(%error, "port");
        }
        self.follow_rules();
        let view = self.view();
        self.fib.lock().refresh(&view, |_| true);
        if reroute {
            self.update_all(&view);
        }
        self.fib.lock().retain_vrfs(&self.interfaces.vrf_tables);
        Ok(())
    }

    /// Leaves packets to the kernel while tables have no room for the routes that they may take, or for own addresses.
    fn follow_room(&mut self) -> std::io::Result<()> {
        let incomplete = self.fib.lock().incomplete();
        if incomplete == self.incomplete {
            return Ok(());
        }
        self.incomplete = incomplete;
        self.follow_policy(true)
    }

    /// Writes what rules say, and names those whose packets are left to the kernel once.
    fn follow_rules(&mut self) {
        let view = self.view();
        let mut fib = self.fib.lock();
        let before: Vec<String> = fib.rules_left().cloned().collect();
        for (ipv6, rules) in [false, true].into_iter().zip(&self.policy.rules) {
            if let Err(error) = fib.set_rules(&view, ipv6, rules) {
                tracing::error!(%error, "rules: packets that they may concern are left to the kernel");
            }
        }
        for why in fib.rules_left().filter(|why| !before.contains(why)) {
            tracing::warn!("packets that match are left to the kernel: {why}");
        }
        self.counters.punted.store((self.policy.punted.len() + fib.rules_left().count()) as u64, Relaxed);
    }

    /// Has the program accept what is addressed to the interfaces.
    fn write_ports(&self) -> Result<(), ControlError> {
        let (policy, mut fib) = (&self.policy, self.fib.lock());
        // A port whose interface has been moved has none: all frames are the kernel's.
        let macs =
            || self.ports.iter().map(|port| (port, self.inside.devices().get(&port.tap).and_then(|tap| tap.mac)));
        let seed = macs().find_map(|(_, mac)| mac).map_or(0, |[_, _, a, b, c, d]| u32::from_be_bytes([a, b, c, d]));
        let vrfs: HashMap<Interface, Vrf> = policy
            .vrfs
            .iter()
            .filter_map(|(of, table)| Some((*of, Vrf { number: fib.vrf(*table)?, first: policy.vrfs_first })))
            .collect();
        let vrf = |of: Interface| vrfs.get(&of).copied();
        macs().try_for_each(|(port, mac)| {
            let interface = Interface { port: port.number, vlan: 0 };
            match policy.takes(interface) {
                true => {
                    fib.set_port(port.number, mac.unwrap_or_default(), seed, policy.kernel(interface), vrf(interface))
                }
                false => fib.close_port(port.number),
            }
        })?;
        let vlans = self.interfaces.by_device.values().filter(|interface| interface.vlan != 0);
        fib.set_vlans(vlans.map(|vlan| {
            let kernel = Some(policy.kernel(*vlan)).filter(|_| policy.takes(*vlan));
            (*vlan, kernel, vrf(*vlan))
        }))
    }

    /// What `hopwright ip show` prints.
    fn state(&mut self, routes: bool) -> RouterState {
        let mut interfaces: Vec<_> = self.interfaces.by_device.iter().collect();
        interfaces.sort_unstable_by_key(|(_, interface)| **interface);
        let ports = interfaces.into_iter().map(|(index, interface)| {
            let device = self.inside.devices().get(index).cloned().unwrap_or_default();
            crate::show::Port {
                number: interface.port,
                vlan: Some(interface.vlan).filter(|vlan| *vlan != 0),
                table: self.policy.vrfs.get(interface).copied(),
                device: device.name,
                mac: device.mac.map(crate::show::mac),
                mtu: device.mtu,
                up: device.up,
                carrier: device.running,
            }
        });
        let names = self.inside.devices().iter().map(|(index, device)| (*index, device.name.clone())).collect();
        let mut state = RouterState {
            ports: ports.collect(),
            punted: self.policy.punted.iter().cloned().collect(),
            rules: self.fib.lock().rules_left().cloned().collect(),
            policy_readings: self.policy_readings,
            settled: !self.reload_wanted,
            ..RouterState::default()
        };
        self.fib.lock().describe(&mut state, &names, routes);
        state
    }

    /// Has the kernel confirm neighbours that only the fast path uses, and resolve those that routes lead to.
    fn upkeep(&mut self) {
        let mut wanted: Vec<HopKey> = Vec::new();
        let (before, after): (Vec<_>, Vec<_>) = {
            let mut fib = self.fib.lock();
            let hops = fib.next_hops().iter().map(|(id, hop)| (id, hop.key, hop.packets));
            hops.partition(|(id, _, _)| *id < self.next_hop)
        };
        for (id, key, last) in after.into_iter().chain(before) {
            if wanted.len() == PROBES {
                self.next_hop = id;
                break;
            }
            let running = self.inside.devices().get(&key.device).is_some_and(|device| device.up && device.running);
            let count = packets(self.fib.lock().program(), id);
            let ask = match self.inside.neighbour(key.device, key.address) {
                Some(Neighbour::Known { fresh, .. }) => !fresh && count != last,
                Some(Neighbour::Failed) | None => true,
            };
            if let Some(hop) = self.fib.lock().next_hops().get_mut(id) {
                hop.packets = count;
            }
            if running && ask {
                wanted.push(key);
            }
        }
        for key in wanted {
            self.counters.probes.fetch_add(1, Relaxed);
            if let Err(error) = self.inside.probe(key.device, key.address) {
                tracing::debug!(%error, address = %key.address, "neighbour cannot be probed");
            }
        }
    }
}

#[cfg(test)]
mod tests;
