//! Follows the namespace's kernel, and keeps the program's tables like its routes and neighbours.

use std::collections::HashSet;
use std::net::IpAddr;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use hopwright_dataplane::ControlError;
use hopwright_dataplane::wait::{PollSet, Wakeup};
use hopwright_host::netlink::{Changes, Neighbour, Netlink, Prefix};

use crate::agent::{Counters, Error, Stop};
use crate::carrier::SharedFib;
use crate::fib::next_hops::{HopKey, packets};
use crate::fib::{Ports, View};
use crate::policy::{Policy, Sources};
use crate::ports::Port;
use crate::show::{Request, RouterState};

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
    /// What next hops need of them.
    states: Ports,
    fib: Arc<SharedFib>,
    sources: Sources,
    policy: Policy,
    /// How often it was read.
    policy_readings: u64,
    next_policy: Instant,
    requests: Receiver<Request>,
    counters: Arc<Counters>,
    /// Routes may be missing; they are read anew when it is time.
    reload_wanted: bool,
    next_reload: Instant,
    next_upkeep: Instant,
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
        let numbers = ports.iter().map(|port| (port.tap, port.number)).collect();
        let now = Instant::now();
        Mirror {
            host,
            inside,
            ports,
            states: Ports { numbers, ..Ports::default() },
            fib,
            sources,
            policy: Policy::default(),
            policy_readings: 0,
            next_policy: now,
            requests,
            counters,
            reload_wanted: false,
            next_reload: now,
            next_upkeep: now,
            next_hop: 0,
        }
    }

    /// Writes what there is.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        // The TAP devices have been set up meanwhile.
        self.inside.update().map_err(Error::Netlink)?;
        self.follow_policy(true).map_err(Error::Netlink)?;
        self.write_ports()?;
        let view = View { netlink: &self.inside, ports: &self.states };
        let routes = self.inside.routes().into_iter().flat_map(|routes| routes.prefixes());
        let neighbours = view.neighbours().map(Prefix::host);
        self.update(&view, routes.chain(neighbours).collect::<Vec<_>>());
        Ok(())
    }

    /// Runs until it is stopped. `asked`: readable when there are requests.
    pub(crate) fn run(mut self, stop: &Stop, asked: &Wakeup) {
        let mut poll = PollSet::new();
        let fds = [stop.fd(), asked.as_raw_fd(), self.host.event_fd(), self.inside.event_fd()];
        fds.into_iter().chain(self.sources.event_fd()).for_each(|fd| poll.add(fd));
        while !stop.requested() {
            let mut next = self.next_upkeep.min(self.next_policy);
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
            self.reload_wanted = false;
            self.next_reload = Instant::now() + RELOAD_PAUSE.max(begin.elapsed() * RELOAD_SHARE);
        }
        changes.everything |= self.fib.lock().take_carriers_changed();
        self.apply(&changes);
        self.counters.overruns.store(self.inside.overruns(), Relaxed);
        self.counters.undecoded.store(self.inside.undecoded(), Relaxed);
        if Instant::now() >= self.next_upkeep {
            self.upkeep();
            self.next_upkeep = Instant::now() + UPKEEP;
        }
        Ok(())
    }

    fn apply(&mut self, changes: &Changes) {
        if changes.everything
            && let Err(error) = self.write_ports()
        {
            tracing::error!(%error, "port");
        }
        let view = View { netlink: &self.inside, ports: &self.states };
        // Next hops first: what leads to them comes when they are ready.
        match changes.everything {
            true => self.fib.lock().refresh(&view, |_| true),
            false => {
                for (device, address) in &changes.neighbours {
                    self.fib.lock().refresh(&view, |key| (key.device, key.address) == (*device, *address));
                }
            }
        }
        self.update(&view, changes.routes.iter().copied());
        let hosts: Vec<IpAddr> = match changes.routes.len() {
            0 if !changes.everything => Vec::new(),
            1..FEW_ROUTES if !changes.everything => {
                view.neighbours().filter(|ip| changes.routes.iter().any(|prefix| prefix.contains(*ip))).collect()
            }
            _ => view.neighbours().collect(),
        };
        let changed = changes.neighbours.iter().map(|(_, address)| *address);
        self.update(&view, hosts.into_iter().chain(changed).map(Prefix::host));
    }

    /// Brings the entries of prefixes up to date, piece by piece: others may need the tables sooner.
    fn update(&self, view: &View<'_>, prefixes: impl IntoIterator<Item = Prefix>) {
        let mut prefixes = prefixes.into_iter().peekable();
        while prefixes.peek().is_some() {
            self.fib.lock().update(view, prefixes.by_ref().take(PIECE));
        }
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
        let policy = self.sources.read(&mut self.inside, notified, tables)?;
        self.policy_readings += 1;
        self.next_policy = Instant::now() + POLICY;
        if policy == self.policy {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.policy, policy);
        for punted in self.policy.punted.difference(&before.punted) {
            tracing::warn!(port = punted.port, packets = ?punted.packets, "left to the kernel: {}", punted.why);
        }
        for (ipv6, rules) in self.policy.rules.iter().enumerate() {
            for why in rules.values().filter(|why| !before.rules[ipv6].values().any(|before| before == *why)) {
                tracing::warn!("packets that match are left to the kernel: {why}");
            }
            if let Err(error) = self.fib.lock().set_rules(ipv6 == 1, rules.keys().copied().collect()) {
                tracing::error!(%error, "rules");
            }
        }
        self.counters.punted.store(self.policy.len(), Relaxed);
        if let Err(error) = self.write_ports() {
            tracing::error!(%error, "port");
        }
        let taps = |which: &dyn Fn(u32) -> bool| {
            self.ports.iter().filter(|port| which(port.number)).map(|port| port.tap).collect::<HashSet<_>>()
        };
        let closed = taps(&|number| self.policy.sends(number));
        let mtu = |port: &Port| Some((port.tap, *self.policy.mtus.get(&port.number)?));
        self.states.mtus = self.ports.iter().filter_map(mtu).collect();
        let checked = !self.policy.check_sources.is_empty();
        let reroute = closed != self.states.closed || checked == before.check_sources.is_empty();
        if let Err(error) = self.fib.lock().check_sources(checked) {
            tracing::error!(%error, "sources");
        }
        self.states.closed = closed;
        let view = View { netlink: &self.inside, ports: &self.states };
        self.fib.lock().refresh(&view, |_| true);
        if reroute {
            let routes = self.inside.routes().into_iter().flat_map(|routes| routes.prefixes());
            let prefixes: HashSet<Prefix> =
                routes.chain(self.fib.lock().prefixes()).chain(view.neighbours().map(Prefix::host)).collect();
            self.update(&view, prefixes);
        }
        Ok(())
    }

    /// Has the program accept what is addressed to the TAP devices.
    fn write_ports(&self) -> Result<(), ControlError> {
        let devices = || self.ports.iter().filter_map(|port| Some((port, self.inside.devices().get(&port.tap)?.mac?)));
        let seed = devices().next().map_or(0, |(_, [_, _, a, b, c, d])| u32::from_be_bytes([a, b, c, d]));
        devices().try_for_each(|(port, mac)| match self.policy.takes(port.number) {
            true => self.fib.lock().set_port(port.number, mac, seed, self.policy.kernel(port.number)),
            false => self.fib.lock().close_port(port.number),
        })
    }

    /// What `hopwright ip show` prints.
    fn state(&mut self, routes: bool) -> RouterState {
        let ports = self.ports.iter().map(|port| {
            let device = self.inside.devices().get(&port.tap).cloned().unwrap_or_default();
            crate::show::Port {
                number: port.number,
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
            rules: self.policy.rules.iter().flat_map(|rules| rules.values().cloned()).collect(),
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
