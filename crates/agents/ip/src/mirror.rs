//! Follows the namespace's kernel, and keeps the program's tables like its routes and neighbours.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use hopwright_dataplane::ControlError;
use hopwright_dataplane::wait::PollSet;
use hopwright_host::netlink::{Changes, Neighbour, Netlink, Prefix};

use crate::agent::{Counters, Stop};
use crate::fib::next_hops::{HopKey, packets};
use crate::fib::{Fib, View};
use crate::ports::Port;

/// How often next hops are looked after.
const UPKEEP: Duration = Duration::from_secs(1);
/// How many of them the kernel is asked about each time, so that changes do not wait.
const PROBES: usize = 256;
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
    /// Port numbers by the index of their TAP device.
    numbers: HashMap<u32, u32>,
    fib: Fib,
    counters: Arc<Counters>,
    /// Routes may be missing; they are read anew when it is time.
    reload_wanted: bool,
    next_reload: Instant,
    next_upkeep: Instant,
    /// Where upkeep goes on.
    next_hop: u16,
}

impl Mirror {
    pub(crate) fn new(host: Netlink, inside: Netlink, ports: Vec<Port>, fib: Fib, counters: Arc<Counters>) -> Mirror {
        let numbers = ports.iter().map(|port| (port.tap, port.number)).collect();
        let now = Instant::now();
        Mirror {
            host,
            inside,
            ports,
            numbers,
            fib,
            counters,
            reload_wanted: false,
            next_reload: now,
            next_upkeep: now,
            next_hop: 0,
        }
    }

    /// Writes what there is.
    pub(crate) fn begin(&mut self) -> Result<(), ControlError> {
        self.write_ports()?;
        let view = View { netlink: &self.inside, ports: &self.numbers };
        let routes = self.inside.routes().into_iter().flat_map(|routes| routes.prefixes());
        let neighbours = view.neighbours().map(Prefix::host);
        self.fib.update(&view, routes.chain(neighbours).collect::<Vec<_>>());
        Ok(())
    }

    /// Works until it is told to stop.
    pub(crate) fn run(mut self, stop: &Stop) {
        let mut poll = PollSet::new();
        [stop.fd(), self.host.event_fd(), self.inside.event_fd()].into_iter().for_each(|fd| poll.add(fd));
        while !stop.requested() {
            let mut next = self.next_upkeep;
            if self.reload_wanted {
                next = next.min(self.next_reload);
            }
            poll.wait(next.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
            if let Err(error) = self.step() {
                tracing::error!(%error, "netlink failed: the tables do not follow the kernel any more");
                return;
            }
        }
    }

    fn step(&mut self) -> std::io::Result<()> {
        let changes = self.host.update()?;
        if changes.everything {
            self.follow_devices();
        }
        let mut changes = self.inside.update()?;
        self.reload_wanted |= changes.lost_routes;
        if self.reload_wanted && Instant::now() >= self.next_reload {
            let begin = Instant::now();
            changes.routes.extend(self.inside.reload_routes()?);
            self.counters.reloads.fetch_add(1, Relaxed);
            self.reload_wanted = false;
            self.next_reload = Instant::now() + RELOAD_PAUSE.max(begin.elapsed() * RELOAD_SHARE);
        }
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
        let view = View { netlink: &self.inside, ports: &self.numbers };
        // Next hops first: what leads to them comes when they are ready.
        match changes.everything {
            true => self.fib.refresh(&view, |_| true),
            false => {
                for (device, address) in &changes.neighbours {
                    self.fib.refresh(&view, |key| (key.device, key.address) == (*device, *address));
                }
            }
        }
        self.fib.update(&view, changes.routes.iter().copied());
        let hosts: Vec<IpAddr> = match changes.routes.len() {
            0 if !changes.everything => Vec::new(),
            1..FEW_ROUTES if !changes.everything => {
                view.neighbours().filter(|ip| changes.routes.iter().any(|prefix| prefix.contains(*ip))).collect()
            }
            _ => view.neighbours().collect(),
        };
        let changed = changes.neighbours.iter().map(|(_, address)| *address);
        self.fib.update(&view, hosts.into_iter().chain(changed).map(Prefix::host));
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

    /// Has the program accept what is addressed to the TAP devices.
    fn write_ports(&self) -> Result<(), ControlError> {
        let devices = || self.ports.iter().filter_map(|port| Some((port, self.inside.devices().get(&port.tap)?.mac?)));
        let seed = devices().next().map_or(0, |(_, [_, _, a, b, c, d])| u32::from_be_bytes([a, b, c, d]));
        devices().try_for_each(|(port, mac)| self.fib.set_port(port.number, mac, seed))
    }

    /// Has the kernel confirm neighbours that only the fast path uses, and resolve those that routes lead to.
    fn upkeep(&mut self) {
        let mut wanted: Vec<HopKey> = Vec::new();
        let (before, after): (Vec<_>, Vec<_>) = {
            let hops = self.fib.next_hops().iter().map(|(id, hop)| (id, hop.key, hop.packets));
            hops.partition(|(id, _, _)| *id < self.next_hop)
        };
        for (id, key, last) in after.into_iter().chain(before) {
            if wanted.len() == PROBES {
                self.next_hop = id;
                break;
            }
            let running = self.inside.devices().get(&key.device).is_some_and(|device| device.up && device.running);
            let count = packets(self.fib.program(), id);
            let ask = match self.inside.neighbour(key.device, key.address) {
                Some(Neighbour::Known { fresh, .. }) => !fresh && count != last,
                Some(Neighbour::Failed) | None => true,
            };
            if let Some(hop) = self.fib.next_hops().get_mut(id) {
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
