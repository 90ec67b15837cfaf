//! The running router: programs the tables, follows the kernel's network state and answers punted packets.
//!
//! [`Agent`] does this for a tenant of a switch. [`standalone`] builds a switch for the router alone, with the devices
//! that the router's addresses need; with [`tenant`] the router is one of the tenants of a switch. BFD and HTTP have threads of their own. Everything else here runs on one thread.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use hopwright_agent::hand_over::HandOver;
use hopwright_dataplane::wait::{PollSet, Wakeup};
use hopwright_dataplane::{BuildError, ControlError, StageTime, Switch, Tenant, VirtualDataPlane, wall_clock_us};
use hopwright_host::http::LogLevel;
use hopwright_host::netlink::{Netlink, Route};
use hopwright_host::next_hop::{Changes, HostCache};
use hopwright_ir::Pipeline;

use crate::bfd::{self, Bfd};
use crate::config::Config;
use crate::config::links::{LinkEnd, Target};
use crate::control::key_rollover::Rollover;
use crate::control::program::{CPU_PORT, PacketIn, PacketOut, Reason};
use crate::control::tables::{self, LinkState};
use crate::scmp::{self, Outcome, SlowPath};
use crate::setup::{Setup, SetupError};
use crate::status::metrics::OwnPackets;
use crate::status::{ActiveConfig, Status};
use crate::tap::Taps;
use crate::underlay::next_hop::{self, Resolver, VIA_KERNEL};
use crate::underlay::{Changed, LinkPorts, Underlay};

mod degraded;
mod error;
mod hand_over;
mod reload;
mod report;
mod standalone;
pub mod tenant;

pub use error::AgentError;
use reload::Reload;
pub use standalone::run;

/// The longest pause between two iterations of the loop.
const TICK: Duration = Duration::from_millis(250);
/// The clock is programmed again when its bits from here on change: after 71 minutes.
const CLOCK_BITS: u32 = 32;
/// The longest pause while a change is in progress.
const SHORT_TICK: Duration = Duration::from_millis(20);
/// The longest pause while workers take up new ports.
const PORTS_TICK: Duration = Duration::from_millis(1);
/// The interval between two published snapshots.
const POST_TIME: Duration = Duration::from_millis(200);
/// The maximum number of hosts with table entries, somewhat below the size of the tables.
const HOSTS: usize = 60_000;

/// Builds a data plane for the program.
#[derive(Clone)]
pub struct MakeDataPlane(Arc<Make>);

type Make = dyn Fn(&Arc<Pipeline>) -> Result<Arc<VirtualDataPlane>, BuildError> + Send + Sync;

impl MakeDataPlane {
    /// One that calls this.
    pub fn new(
        make: impl Fn(&Arc<Pipeline>) -> Result<Arc<VirtualDataPlane>, BuildError> + Send + Sync + 'static,
    ) -> MakeDataPlane {
        MakeDataPlane(Arc::new(make))
    }
}

impl std::fmt::Debug for MakeDataPlane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MakeDataPlane")
    }
}

/// A running router, for who watches it: its switch, and what makes its state as JSON ([`crate::status::state`]).
pub type Watch = (Arc<Switch>, Box<dyn Fn() -> Option<serde_json::Value> + Send + Sync>);

/// Options of [`run`].
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The file for statistics, written every second and at the end.
    pub stats: Option<PathBuf>,
    /// What builds the data plane. Without it the program's machine code runs.
    pub data_plane: Option<MakeDataPlane>,
    /// Set by the caller to end the run.
    pub stop: Arc<AtomicBool>,
    /// The log level, which can be read and changed over HTTP.
    pub log_level: Option<Arc<dyn LogLevel>>,
    /// Set by the caller to reload the configuration; cleared when the reload begins.
    pub reload: Arc<AtomicBool>,
    /// Set by the caller to write the state to standard error; cleared when it is written.
    pub dump: Arc<AtomicBool>,
    /// How processes take over from each other.
    pub hand_over: HandOver,
    /// Gets the router when it runs.
    pub watch: Option<Sender<Watch>>,
    /// The caller notifies this after setting one of the flags, for an immediate reaction.
    pub told: Option<Arc<Wakeup>>,
}

/// If configured, restricts the devices through which packets for the router's addresses may arrive. Returns the raw
/// ports through which they must arrive.
fn arrivals(setup: &Setup, underlay: &mut Underlay, kernel: &Netlink) -> BTreeMap<std::net::IpAddr, u16> {
    if setup.config.hopwright.strict_arrival {
        underlay.restrict_arrivals(kernel, &setup.links)
    } else {
        underlay.allow_arrivals();
        BTreeMap::new()
    }
}

/// The slow path's part of the configuration.
fn slow_path_settings(config: &Config) -> scmp::Settings {
    scmp::Settings {
        authenticate: config.features.experimental_scmp_authentication,
        authentication: config.hopwright.scmp_authentication,
        limit: config.hopwright.scmp,
    }
}

/// The control plane of a tenant that runs the program.
struct Agent {
    /// The current configuration.
    setup: Setup,
    /// Reads it again.
    load: Load,
    bfd: Bfd,
    vdp: Arc<VirtualDataPlane>,
    switch: Arc<Switch>,
    tenant: Arc<Tenant>,
    kernel: Netlink,
    next_hops: Resolver,
    underlay: Underlay,
    reload: Reload,
    rollover: Rollover,
    hosts: HostCache,
    /// Called when a chip has no room for a host.
    hosts_full: Once,
    /// Devices that routes to hosts use, in addition to those that links use.
    host_devices: BTreeSet<u32>,
    /// The ports of links as last logged.
    link_ports: Vec<LinkPorts>,
    /// Whether workers have yet to take up new ports.
    ports_changing: bool,
    /// The workers' rounds when all had been given these.
    ports_given: Option<u64>,
    /// The upper bits of the clock as last programmed.
    clock_epoch: u64,
    /// Punted packets by reason; each reason is logged once.
    punted: HashMap<u8, u64>,
    slow_path: SlowPath,
    /// TAP devices to which punted packets go if another router has the slow path.
    taps: Option<Taps>,
    started: Instant,
    /// When the next snapshot is published.
    next_post: Instant,
    /// Counts of packets that the router itself has sent.
    own_packets: OwnPackets,
    /// Time spent on punted packets.
    slow_path_time: StageTime,
    /// Whether the statistics file was written the last time, if there is to be one.
    stats_written: Option<bool>,
    status: Arc<Status>,
}

/// Reads a configuration; see [`Setup::load`].
type Load = fn(&Path, bool) -> Result<Setup, SetupError>;

/// What an agent needs of the place that it works in.
struct Place {
    load: Load,
    switch: Arc<Switch>,
    /// The tenant that runs the program.
    tenant: Arc<Tenant>,
    kernel: Netlink,
    /// The tenant's ports.
    underlay: Underlay,
    taps: Option<Taps>,
}

impl Agent {
    /// Programs the tables for a setup. BFD is not started.
    fn new(mut setup: Setup, place: Place) -> Result<Agent, AgentError> {
        let Place { load, switch, tenant, mut kernel, mut underlay, taps } = place;
        let vdp = tenant.vdp();
        setup.links.arrivals = arrivals(&setup, &mut underlay, &kernel);
        tables::forget_hosts(&vdp)?;
        tables::program(&vdp, &setup.links, &setup.keys.current)?;
        tables::set_default_host(&vdp, VIA_KERNEL)?;
        tables::set_dispatched_ports(&vdp, setup.dispatched_ports())?;
        let mut rollover = Rollover::new();
        rollover.set(&vdp, &setup.keys, &setup.config.hopwright.reload, Instant::now())?;
        let mut next_hops = Resolver::new(underlay.ports(&kernel), VIA_KERNEL);
        next_hop::add_links(&mut next_hops, &setup.links, &mut kernel);
        let key = setup.keys.current.clone();
        let bfd = match &taps {
            Some(_) => Bfd::idle(key),
            None => Bfd::new(setup.bfd.clone(), key),
        };
        let mut agent = Agent {
            bfd: bfd.map_err(AgentError::BfdThread)?,
            vdp,
            status: Status::new(switch.clone(), tenant.clone(), ActiveConfig::of(&setup)),
            switch,
            tenant,
            kernel,
            next_hops,
            underlay,
            load,
            reload: Reload::new(&setup),
            rollover,
            hosts: HostCache::new(HOSTS),
            hosts_full: Once::new(),
            host_devices: BTreeSet::new(),
            link_ports: Vec::new(),
            ports_changing: false,
            ports_given: None,
            clock_epoch: 0,
            punted: HashMap::new(),
            slow_path: SlowPath::new(slow_path_settings(&setup.config)),
            taps,
            started: Instant::now(),
            next_post: Instant::now(),
            own_packets: OwnPackets::default(),
            slow_path_time: StageTime::default(),
            stats_written: None,
            setup,
        };
        agent.slow_path.set_keys(&agent.setup.keys, wall_clock_us());
        // Links with BFD are down until their session is up.
        agent.look_around()?;
        for (target, ..) in next_hop::link_ends(&agent.setup.links) {
            agent.program_target(target)?;
        }
        agent.log_link_ports();
        let links = &agent.setup.links;
        tracing::info!(event = "router-started", ia = %links.ia, id = %agent.setup.config.general.id,
            internal = %links.internal, external = links.external.len(), siblings = links.siblings.len(),
            bfd_sessions = agent.setup.bfd.len(), "router started");
        if tables::has_hummingbird(&agent.vdp) {
            tracing::info!(
                event = "hummingbird",
                "path type Hummingbird is on: an experiment, after a draft of the reference"
            );
        }
        // Pages show the state of links from the first request on.
        agent.status.publish(agent.snapshot());
        Ok(agent)
    }

    /// Starts BFD, unless another router has it.
    fn start_bfd(&mut self) -> Result<(), AgentError> {
        match self.taps {
            Some(_) => Ok(()),
            None => self.bfd.start(&self.tenant).map_err(AgentError::BfdThread),
        }
    }

    /// Waits for the next event, among them those that `add` adds, and acts upon it. Returns false if `options.stop` is set.
    fn turn(&mut self, options: &Options, add: impl FnOnce(&mut PollSet)) -> Result<bool, AgentError> {
        if self.bfd.has_failed() {
            return Err(AgentError::BfdThread(io::Error::other("its thread has ended")));
        }
        let mut poll = PollSet::new();
        poll.add(self.tenant.cpu().fd().as_raw_fd());
        poll.add(self.kernel.event_fd());
        poll.add(self.bfd.changes_fd());
        self.reload.add_to(&mut poll);
        add(&mut poll);
        if let Some(told) = &options.told {
            poll.add(told.as_raw_fd());
        }
        if let Some(taps) = &self.taps {
            taps.add_to(&mut poll);
            poll.add(self.tenant.urgent_cpu().fd().as_raw_fd());
        }
        poll.wait(self.longest_pause());
        if let Some(told) = &options.told {
            told.clear();
        }
        if options.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        self.follow_bfd()?;
        self.take_punted();
        self.follow_taps()?;
        self.look_around()?;
        self.follow_configuration(options);
        let dump = options.dump.swap(false, Ordering::Relaxed);
        let now = Instant::now();
        if now >= self.next_post || dump {
            self.next_post = now + POST_TIME;
            self.status.publish(self.snapshot());
        }
        if dump {
            self.dump();
        }
        Ok(true)
    }

    /// The time until the next timer, if no event happens before.
    fn longest_pause(&self) -> Duration {
        let tick = match () {
            () if self.ports_changing => PORTS_TICK,
            () if self.reload.is_busy() => SHORT_TICK,
            () => TICK,
        };
        let due = self.next_hops.deadline().map(|at| at.saturating_duration_since(Instant::now()));
        due.map_or(tick, |due| due.clamp(PORTS_TICK, tick))
    }

    /// Updates tables and clock to the kernel's current network state.
    fn look_around(&mut self) -> Result<(), AgentError> {
        let changes = self.kernel.update().map_err(AgentError::Netlink)?;
        let now = Instant::now();
        let found = self.underlay.find_missing(&self.kernel, &self.setup.links, now, changes.everything);
        if !found.is_empty() {
            self.take_up(&found)?;
        }
        if changes.everything {
            self.next_hops.reroute_all(&mut self.kernel, now);
        } else if !changes.routes.is_empty() {
            self.next_hops.reroute_within(&changes.routes, &mut self.kernel, now);
        }
        self.next_hops.follow_neighbours(&changes.neighbours, &mut self.kernel, now);
        self.next_hops.confirm(&mut self.kernel, now);
        if changes.everything || !changes.routes.is_empty() {
            self.hosts.reconsider();
            self.follow_devices(changes.everything)?;
        }
        if self.ports_changing && self.ports_are_taken_up() {
            self.ports_changing = false;
            self.underlay.set_ready();
            self.next_hops.set_ports(self.underlay.ports(&self.kernel), &self.kernel, now);
            self.hosts.reconsider();
        }
        self.underlay.keep_joined_flows();
        self.hosts.resume(&mut self.next_hops, &mut self.kernel, now);
        if self.hosts.is_due(now) {
            self.learn_hosts(now)?;
        }
        self.program_changes()?;
        if changes.everything || !changes.routes.is_empty() {
            self.log_link_ports();
        }
        let now_us = wall_clock_us();
        if now_us >> CLOCK_BITS != self.clock_epoch {
            self.clock_epoch = now_us >> CLOCK_BITS;
            tables::set_clock(&self.vdp, &self.setup.links, now_us)?;
        }
        Ok(())
    }

    /// Whether every worker has received from the new ports, or tried to: only then AF_XDP has frames for what comes.
    fn ports_are_taken_up(&mut self) -> bool {
        if self.switch.ports_changing() {
            self.ports_given = None;
            return false;
        }
        let rounds = self.switch.rounds();
        // The round in which a port is taken up may be this one or the next.
        let done = rounds >= *self.ports_given.get_or_insert(rounds) + 2;
        if done {
            self.ports_given = None;
        }
        done
    }

    /// Opens and closes raw ports according to devices, addresses and routes. `anyway` forces this even if routes use
    /// the same devices as before.
    fn follow_devices(&mut self, anyway: bool) -> Result<(), AgentError> {
        self.host_devices.retain(|index| self.kernel.devices().contains_key(index));
        let mut used = self.next_hops.devices();
        used.extend(&self.host_devices);
        let mut links = vec![&self.setup.links];
        if let Some(setup) = self.reload.preparing() {
            used.extend(next_hop::used_devices(&mut self.kernel, &setup.links));
            links.push(&setup.links);
        }
        if anyway || !self.underlay.is_following(&used) {
            let changed = self.underlay.follow(&self.kernel, &links, &used);
            self.follow_ports(changed)?;
            self.follow_addresses()?;
        }
        Ok(())
    }

    /// Adds new ports to the switch. Removes closed ones once no table entry refers to them.
    fn follow_ports(&mut self, changed: Changed) -> Result<(), AgentError> {
        self.next_hops.set_ports(self.underlay.ports(&self.kernel), &self.kernel, Instant::now());
        self.program_changes()?;
        for number in changed.closed {
            if let Err(error) = self.switch.remove_port(number) {
                tracing::warn!(event = "port-not-removed", %error, number, "cannot remove a port");
            }
        }
        for (number, ports) in changed.opened {
            match self.switch.add_ports(number, ports) {
                Ok(()) => self.ports_changing = true,
                Err(error) => {
                    tracing::warn!(event = "port-not-added", %error, number, "cannot add a port");
                    self.underlay.give_up(&self.kernel, number, error.to_string());
                }
            }
        }
        Ok(())
    }

    /// Gives hosts table entries of their own if the UDP port sends many packets to them.
    fn learn_hosts(&mut self, now: Instant) -> Result<(), AgentError> {
        let mut destinations = self.underlay.sockets().take_destinations();
        let links = &self.setup.links;
        destinations.retain(|(to, _)| !links.external.iter().any(|e| e.underlay.remote.ip() == *to));
        if destinations.is_empty() {
            return Ok(());
        }
        let source = links.internal.ip();
        if links.by_kernel_only(source).is_some() {
            return Ok(());
        }
        let devices = self.hosts.learn(destinations, source, &mut self.next_hops, &mut self.kernel, now);
        if !devices.is_subset(&self.host_devices) {
            self.host_devices.extend(devices);
            self.follow_devices(true)?;
        }
        Ok(())
    }

    /// Logs which kinds of port links use, if that has changed.
    fn log_link_ports(&mut self) {
        let ports = self.underlay.link_ports(&self.kernel, &self.setup.links, &self.next_hops);
        for link in ports.iter().filter(|link| !self.link_ports.contains(link)) {
            match &link.short {
                Some(_) => tracing::warn!(event = "link-port", "{link}"),
                None => tracing::info!(event = "link-port", "{link}"),
            }
        }
        self.link_ports = ports;
    }

    /// Follows local addresses that have moved to other devices.
    fn follow_addresses(&mut self) -> Result<(), AgentError> {
        let arrivals = arrivals(&self.setup, &mut self.underlay, &self.kernel);
        if arrivals != self.setup.links.arrivals {
            self.setup.links.arrivals = arrivals;
            tables::program_links(&self.vdp, &self.setup.links, |target| self.link_state(target))?;
        }
        Ok(())
    }

    /// Updates the tables to changed next hops.
    fn program_changes(&mut self) -> Result<(), AgentError> {
        let changes = self.next_hops.take_changes();
        self.program_all(changes)
    }

    fn program_all(&mut self, changes: Changes<LinkEnd>) -> Result<(), AgentError> {
        if changes.no_hosts {
            tables::forget_hosts(&self.vdp)?;
        }
        for target in changes.targets {
            self.program_target(target)?;
        }
        Ok(())
    }

    /// Moves frames between TAP devices and ports. Updates the tables when the TAP devices report a change of a link.
    fn follow_taps(&mut self) -> Result<(), AgentError> {
        let Some(taps) = &mut self.taps else { return Ok(()) };
        let queue = self.tenant.urgent_cpu();
        queue.clear_wakeup();
        for _ in 0..4096 {
            let Some(bytes) = queue.try_receive() else { break };
            if let Some((header, packet)) = PacketIn::split(&bytes) {
                taps.hand_over(header.port, packet);
            }
        }
        let injector = self.tenant.injector();
        for target in taps.exchange(&injector, &self.setup.links) {
            self.program_target(target)?;
        }
        Ok(())
    }

    /// Returns whether a target can be reached, and through which next hop.
    fn link_state(&self, target: Target) -> LinkState {
        let next_hop = self.next_hops.next_hop(target);
        match self.setup.links.bfd_link(target) {
            _ if self.broken(target).is_some() => LinkState::Down(None),
            Some(link) if !self.bfd.is_up(link) => LinkState::Down(Some(next_hop)),
            _ if self.taps.as_ref().is_some_and(|taps| taps.is_down(target)) => LinkState::Down(Some(next_hop)),
            _ => LinkState::Up(next_hop),
        }
    }

    /// Passes a target's route to BFD.
    fn tell_bfd(&self, target: Target) {
        if let Some(link) = self.setup.links.bfd_link(target) {
            let (next_hop, direct) = (self.next_hops.next_hop(target), self.next_hops.is_direct(target));
            self.bfd.set_route(link, Some(bfd::Route { next_hop, direct }));
        }
    }

    /// Updates the tables to link changes that BFD has detected.
    fn follow_bfd(&mut self) -> Result<(), AgentError> {
        for (link, change) in self.bfd.take_changes() {
            match change {
                bfd::LinkChange::Up => tracing::info!(event = "bfd", %link, %change, "BFD"),
                bfd::LinkChange::Down(why) => tracing::warn!(event = "bfd", %link, %change, %why, "BFD"),
            }
            if let Some(target) = self.setup.links.target(link) {
                self.program_target(target)?;
            }
        }
        Ok(())
    }

    /// Updates the table entries of a target.
    fn program_target(&self, target: Target) -> Result<(), ControlError> {
        self.tell_bfd(target);
        let state = self.link_state(target);
        match target {
            Target::Link(LinkEnd::External(id)) => {
                let Some(link) = self.setup.links.interface(id) else { return Ok(()) };
                tracing::debug!(interface = link.id, remote = %link.underlay.remote, %state, "link to another AS");
                self.vdp.control().put(&tables::external(link, state))
            }
            Target::Link(LinkEnd::Sibling(number)) => {
                let Some(sibling) = self.setup.links.sibling(number) else { return Ok(()) };
                tracing::debug!(router = %sibling.name, address = %sibling.address, %state, "link to a sibling router");
                for entry in tables::sibling_entries(self.setup.links.internal, sibling, state) {
                    self.vdp.control().put(&entry)?;
                }
                Ok(())
            }
            Target::Host(host) => {
                tracing::trace!(%host, %state, "host");
                match self.next_hops.contains(target) {
                    true => match self.vdp.control().put(&tables::host(host, self.next_hops.next_hop(target))) {
                        // A chip has room for fewer hosts. Others are reached by the UDP sockets, as those without an entry.
                        Err(error @ ControlError::Device { .. }) => {
                            let log = || tracing::warn!(event = "host-refused", %host, %error, "no entry for a host");
                            self.hosts_full.call_once(log);
                            Ok(())
                        }
                        other => other,
                    },
                    false => match self.vdp.control().delete(&tables::no_host(host)) {
                        Err(ControlError::NotFound(_)) => Ok(()),
                        other => other,
                    },
                }
            }
        }
    }

    fn take_punted(&mut self) {
        let queue = self.tenant.cpu();
        queue.clear_wakeup();
        let start = Instant::now();
        // The queue may fill as fast as it is emptied, so process at most its capacity at a time.
        for _ in 0..4096 {
            let Some(bytes) = queue.try_receive() else { break };
            self.slow_path_time.packets += 1;
            let Some((header, packet)) = PacketIn::split(&bytes) else { continue };
            let seen = self.punted.entry(header.reason).or_insert(0);
            *seen += 1;
            if *seen == 1 {
                let reason = Reason::from_number(header.reason).map_or("?".into(), Reason::label);
                let (ingress, egress) = (header.ingress, header.egress);
                tracing::info!(event = "first-punt", reason, ingress, egress, "first packet punted");
            }
            if let Some(taps) = self.taps.as_mut().filter(|taps| taps.have(header.port)) {
                taps.hand_over(header.port, packet);
            } else {
                self.answer(&header, packet);
            }
        }
        self.slow_path_time.ns += start.elapsed().as_nanos() as u64;
    }

    /// Answers a punted packet, or completes it and passes it to the program again.
    fn answer(&mut self, header: &PacketIn, packet: &[u8]) {
        let injector = self.tenant.injector();
        let (now, kernel) = ((Instant::now(), wall_clock_us()), &mut self.kernel);
        let links = &self.setup.links;
        let has_route = |to, from| {
            links.by_kernel_only(from).is_some()
                || matches!(kernel.route(to, from), Ok(Route::Via { .. } | Route::Here))
        };
        let sent = match self.slow_path.handle(packet, header, &self.setup.links, now, has_route) {
            Outcome::Reply(_, frame) | Outcome::Bounce(frame) | Outcome::Stun(frame) => {
                let sent = injector.transmit(header.port.into(), &frame);
                let egress_link = scmp::egress_link(&frame, header.ingress, &self.setup.links);
                if let (Ok(()), Some((link, bytes))) = (sent, egress_link) {
                    self.own_packets.count(link, bytes);
                }
                sent
            }
            Outcome::Process { frame, l4_port } => {
                injector.packet_out(CPU_PORT, &PacketOut::resume(header, l4_port).before(&frame))
            }
            Outcome::Drop(_) => Ok(()),
        };
        if sent.is_err() {
            self.slow_path.not_sent(packet, header, &self.setup.links);
        }
    }
}
