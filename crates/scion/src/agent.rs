//! The running router: opens the devices, programs the tables, follows the kernel, answers for punted packets.
//!
//! Threads forward (the data plane's workers), one does everything else. Does not live here: what each step means
//! ([`crate::links`], [`crate::ways`], [`crate::tables`]).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::{self, PollSet};
use hopwright_dataplane::{
    BuildError, ControlError, EngineKind, StageTime, Switch, SwitchBuilder, VirtualDataPlane, Worker, wall_clock_us,
};
use hopwright_ir::Pipeline;

use crate::bfd::{self, Bfd};
use crate::board::{Board, Figures, Session, Setting};
use crate::config::{Config, ConfigError};
use crate::http::{HttpError, Listeners, LogLevel, NoLog};
use crate::kernel::Kernel;
use crate::keys::{self, KeyError, Keys};
use crate::links::{Links, LinksError};
use crate::metrics::OwnPackets;
use crate::program::{CPU_PORT, PacketIn, PacketOut, Reason, URGENT_CPU_PORT};
use crate::reload::NeedsRestart;
use crate::rollover::Rollover;
use crate::scmp::{self, Outcome, SlowPath};
use crate::service::{self, Manager, Phase, PrivilegeError};
use crate::stats::Stats;
use crate::tables::{self, Way};
use crate::tap::{TapError, Taps};
use crate::topology::{Topology, TopologyError};
use crate::underlay::{self, Underlay};
use crate::ways::{Change, Target, Ways};

mod reload;

use reload::Reload;

/// Longest pause between two looks around.
const TICK: Duration = Duration::from_millis(250);
/// The same while a next hop is looked for.
const SHORT_TICK: Duration = Duration::from_millis(20);
/// Time between two posts of the figures that others read.
const POST_TIME: Duration = Duration::from_millis(200);
/// Packets that may wait for a next hop, for one host and for all.
const WAITING_EACH: usize = 16;
/// See [`WAITING_EACH`].
const WAITING_ALL: usize = 1024;
/// How long a packet may wait for a next hop.
const WAITING_TIME: Duration = Duration::from_secs(3);
/// Hosts of the AS that are followed at the same time; a bit less than the table holds.
const HOSTS: usize = 60_000;

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where to write the figures each second and at the end.
    pub stats: Option<PathBuf>,
    /// Interpret the program instead of running machine code.
    pub interpret: bool,
    /// Set to end the run.
    pub stop: Arc<AtomicBool>,
    /// The log's level, to be read and changed over HTTP.
    pub log_level: Option<Arc<dyn LogLevel>>,
    /// Set to read the configuration again; taken back when that has begun.
    pub reload: Arc<AtomicBool>,
}

/// Why the router does not run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum AgentError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error("{}: {source}", file.display())]
    Links { file: PathBuf, source: Box<LinksError> },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("cannot read the kernel's devices and routes: {0}")]
    Kernel(#[source] io::Error),
    #[error("{what} {address}: no network device has this address")]
    NoDevice { what: String, address: IpAddr },
    #[error("{what} {address}: {device} is no Ethernet device")]
    NotEthernet { what: String, address: IpAddr, device: String },
    #[error("{device}: its MTU {mtu} is more than the {limit} that packet buffers were made for: restart the router")]
    DeviceMtu { device: String, mtu: u32, limit: u32 },
    #[error("the links lead to more devices than the switch has port numbers")]
    TooManyDevices,
    #[error(transparent)]
    Device(#[from] hopwright_ports::af_packet::DeviceError),
    #[error(transparent)]
    Claim(#[from] hopwright_ports::claim::ClaimError),
    #[error(transparent)]
    Ports(#[from] hopwright_ports::choice::OpenerError),
    #[error("cannot build the data plane: {0}")]
    Build(#[from] BuildError),
    #[error("cannot build the switch: {0}")]
    Switch(#[from] hopwright_dataplane::switch::SwitchError),
    #[error("cannot program the data plane: {0}")]
    Control(#[from] ControlError),
    #[error(transparent)]
    Bfd(#[from] bfd::spec::BadInterval),
    #[error("cannot run BFD: {0}")]
    BfdThread(#[source] io::Error),
    #[error("{}: {source}", file.display())]
    Stats { file: PathBuf, source: io::Error },
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("cannot start the thread that serves HTTP: {0}")]
    HttpThread(#[source] io::Error),
    #[error(transparent)]
    Tap(#[from] TapError),
    #[error(transparent)]
    Privileges(#[from] PrivilegeError),
    #[error(transparent)]
    NeedsRestart(#[from] NeedsRestart),
    #[error("the thread that reads the configuration has ended")]
    Reading,
    #[error("the thread that forwards packets has ended: {0}")]
    Worker(String),
}

/// Everything the configuration says, read and checked.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where [`Setup::config`] was read, if from a file.
    pub file: Option<PathBuf>,
    /// `router.toml`.
    pub config: Config,
    /// `topology.json`.
    pub topology: Topology,
    /// The router's links.
    pub links: Links,
    /// Keys of the hop fields.
    pub keys: Keys,
    /// The BFD sessions there are to be.
    pub bfd: Vec<bfd::Spec>,
}

impl Setup {
    /// Reads `router.toml` and what it refers to.
    pub fn load(file: &Path) -> Result<Setup, AgentError> {
        let mut setup = Setup::from_config(Config::load(file)?)?;
        setup.file = Some(file.to_path_buf());
        Ok(setup)
    }

    /// Reads what a configuration refers to.
    pub fn from_config(config: Config) -> Result<Setup, AgentError> {
        let dir = &config.general.config_dir;
        let file = dir.join("topology.json");
        let topology = Topology::load(&file)?;
        let links = Links::of(&topology, &config.general.id)
            .map_err(|source| AgentError::Links { file, source: Box::new(source) })?;
        let keys = keys::load(dir)?;
        // With another router's slow path, BFD is that router's.
        let bfd = match config.slow_path_netns() {
            Some(_) => Vec::new(),
            None => bfd::specs(&links, &config.router.bfd)?,
        };
        Ok(Setup { file: None, config, topology, links, keys, bfd })
    }

    /// What may be shown of it: not the key.
    fn shown(&self) -> Setting {
        Setting { config: self.config.clone(), topology: self.topology.clone(), links: self.links.clone() }
    }
}

/// Runs the router until it is told to stop, and returns its last figures. `pipeline` is the compiled
/// [`crate::program`].
pub fn run(mut setup: Setup, pipeline: Arc<Pipeline>, options: &Options) -> Result<Stats, AgentError> {
    let kind = if options.interpret { EngineKind::Interp } else { EngineKind::Jit };
    let vdp = VirtualDataPlane::new(pipeline, kind)?;
    let mut kernel = Kernel::open().map_err(AgentError::Kernel)?;
    let mut underlay = Underlay::new(&mut kernel, &setup)?;
    let mut builder = SwitchBuilder::new(vdp.clone())
        .pools(underlay.take_pools())
        .cpu_port(CPU_PORT)
        .urgent_cpu_port(URGENT_CPU_PORT)
        .batch(setup.config.hopwright.batch);
    if let Some(rest) = setup.config.hopwright.rest_us {
        builder = builder.longest_rest(Duration::from_micros(rest.into()));
    }
    for (number, ports) in underlay.widen(&mut kernel, &setup.links)? {
        builder = builder.ports(number, ports);
    }
    setup.links.arrivals = underlay.arrivals(&kernel, &setup.links);
    tables::program(&vdp, &setup.links, &setup.keys.current)?;
    let mut rollover = Rollover::new();
    rollover.set(&vdp, &setup.keys, &setup.config.hopwright.reload, Instant::now())?;
    let mut ways = Ways::new(underlay.ports());
    underlay::add_links(&mut ways, &setup.links, &mut kernel);
    let (switch, workers) = builder.build_workers()?;
    let namespace = setup.config.slow_path_netns();
    let taps = namespace.map(|name| Taps::open(&name, &underlay.ports(), kernel.devices())).transpose()?;
    let listeners = Listeners::open(&setup.config)?;
    // Threads that start from here on have no more than what stays.
    service::drop_privileges(Phase::Running)?;
    let board = Board::new(switch.clone(), setup.shown());

    let key = setup.keys.current.clone();
    let bfd = match &taps {
        Some(_) => Bfd::idle(key),
        None => Bfd::start(setup.bfd.clone(), key, &switch),
    };
    let bfd = bfd.map_err(AgentError::BfdThread)?;

    let mut agent = Agent {
        bfd,
        vdp,
        switch: switch.clone(),
        kernel,
        ways,
        underlay,
        reload: Reload::new(&setup),
        rollover,
        waiting: BTreeMap::new(),
        waiting_count: 0,
        clock_epoch: 0,
        punted: HashMap::new(),
        slow_path: SlowPath::new(slow_path_settings(&setup.config)),
        taps,
        started: Instant::now(),
        waiting_lost: 0,
        own_packets: OwnPackets::default(),
        slow_path_time: StageTime::default(),
        board: board.clone(),
        manager: Manager::new(),
        setup,
    };
    // Ways that are known are programmed before the first packet; links with BFD are down until it says otherwise.
    agent.look_around()?;
    for target in agent.setup.bfd.iter().filter_map(|spec| agent.setup.links.target(spec.link)) {
        agent.program_way(target)?;
    }
    let links = &agent.setup.links;
    tracing::info!(ia = %links.ia, id = %agent.setup.config.general.id, internal = %links.internal,
        external = links.external.len(), siblings = links.siblings.len(),
        bfd_sessions = agent.setup.bfd.len(), "router started");
    let moving = forward(workers, &agent.setup.config.hopwright.cpus)?;
    let log_level = options.log_level.clone().unwrap_or_else(|| Arc::new(NoLog));
    let server = listeners.serve(board, log_level).map_err(AgentError::HttpThread)?;
    agent.manager.ready();
    let result = agent.follow(options, &moving);
    agent.manager.stopping();
    switch.stop();
    drop(server);
    for thread in moving {
        if thread.join().is_err() {
            return Err(AgentError::Worker("it panicked".into()));
        }
    }
    result?;
    agent.report(options)
}

/// Starts the workers, each on its CPU if there are any to choose from.
fn forward(workers: Vec<Worker>, cpus: &[usize]) -> Result<Vec<JoinHandle<()>>, AgentError> {
    let start = |(index, mut worker): (usize, Worker)| {
        let cpu = cpus.get(index).copied();
        let run = move || {
            if let Some(cpu) = cpu
                && let Err(error) = wait::pin_to(cpu)
            {
                tracing::warn!(cpu, %error, "a worker is not kept on its CPU");
            }
            worker.run();
        };
        std::thread::Builder::new().name(format!("worker-{index}")).spawn(run)
    };
    workers.into_iter().enumerate().map(start).collect::<io::Result<_>>().map_err(|e| AgentError::Worker(e.to_string()))
}

/// What the configuration says about answers.
fn slow_path_settings(config: &Config) -> scmp::Settings {
    scmp::Settings { authenticate: config.features.experimental_scmp_authentication, limit: config.hopwright.scmp }
}

struct Agent {
    /// What it runs with now.
    setup: Setup,
    bfd: Bfd,
    vdp: Arc<VirtualDataPlane>,
    switch: Arc<Switch>,
    kernel: Kernel,
    ways: Ways,
    underlay: Underlay,
    reload: Reload,
    rollover: Rollover,
    /// Packets, as received by a port, that wait for a next hop.
    waiting: BTreeMap<Target, VecDeque<(Instant, u16, Vec<u8>)>>,
    waiting_count: usize,
    /// Upper bits of the clock as programmed.
    clock_epoch: u64,
    /// Reasons seen, to log each once.
    punted: HashMap<u8, u64>,
    slow_path: SlowPath,
    /// Where punted packets go instead, if another router has the slow path.
    taps: Option<Taps>,
    started: Instant,
    /// Packets that waited in vain.
    waiting_lost: u64,
    /// Packets that the router itself has sent.
    own_packets: OwnPackets,
    /// Time spent on punted packets.
    slow_path_time: StageTime,
    board: Arc<Board>,
    manager: Manager,
}

impl Agent {
    /// Works until told to stop.
    fn follow(&mut self, options: &Options, workers: &[JoinHandle<()>]) -> Result<(), AgentError> {
        let mut next_report = Instant::now() + Duration::from_secs(1);
        let mut next_post = Instant::now();
        while !options.stop.load(Ordering::Relaxed) {
            if workers.iter().any(JoinHandle::is_finished) {
                return Err(AgentError::Worker("it stopped".into()));
            }
            if self.bfd.has_failed() {
                return Err(AgentError::BfdThread(io::Error::other("its thread has ended")));
            }
            let mut poll = PollSet::new();
            poll.add(self.switch.cpu().fd().as_raw_fd());
            poll.add(self.kernel.event_fd());
            poll.add(self.bfd.changes_fd());
            self.reload.add_to(&mut poll);
            if let Some(taps) = &self.taps {
                taps.add_to(&mut poll);
                poll.add(self.switch.urgent_cpu().fd().as_raw_fd());
            }
            let busy = self.ways.is_waiting() || self.reload.is_busy();
            poll.wait(if busy { SHORT_TICK } else { TICK });
            self.follow_bfd()?;
            self.take_punted();
            self.follow_taps()?;
            self.look_around()?;
            self.follow_configuration(options);
            let now = Instant::now();
            self.manager.alive(self.switch.rounds(), now);
            if now >= next_post {
                next_post = now + POST_TIME;
                self.board.post(self.figures());
            }
            if now >= next_report {
                next_report = Instant::now() + Duration::from_secs(1);
                if options.stats.is_some()
                    && let Err(error) = self.report(options)
                {
                    tracing::error!(%error, "cannot write the statistics");
                }
            }
        }
        Ok(())
    }

    /// Brings tables and clock in line with the kernel's view.
    fn look_around(&mut self) -> Result<(), AgentError> {
        let changes = self.kernel.update().map_err(AgentError::Kernel)?;
        if changes.routes {
            self.ways.reroute(&mut self.kernel);
            self.follow_addresses()?;
        }
        let now = Instant::now();
        for change in self.ways.refresh(&mut self.kernel, now) {
            self.program(change)?;
        }
        self.expire(now);
        let now_us = wall_clock_us();
        if now_us >> 48 != self.clock_epoch {
            self.clock_epoch = now_us >> 48;
            tables::set_clock(&self.vdp, &self.setup.links, now_us)?;
        }
        Ok(())
    }

    /// Addresses of ours may have moved to other devices.
    fn follow_addresses(&mut self) -> Result<(), AgentError> {
        let arrivals = self.underlay.arrivals(&self.kernel, &self.setup.links);
        if arrivals != self.setup.links.arrivals {
            tracing::info!("addresses of the router are on other devices now");
            self.setup.links.arrivals = arrivals;
            tables::program_links(&self.vdp, &self.setup.links, |target| self.way(target))?;
        }
        Ok(())
    }

    fn program(&mut self, change: Change) -> Result<(), AgentError> {
        match change {
            Change::Found(target) => {
                self.program_way(target)?;
                self.send_waiting(target);
            }
            Change::Lost(target) => self.program_way(target)?,
            Change::Forgotten(host) => {
                tracing::debug!(%host, "host not found");
                self.give_up_waiting(Target::Host(host));
            }
        }
        Ok(())
    }

    /// Moves frames between TAP devices and ports, and brings the tables in line with what they say.
    fn follow_taps(&mut self) -> Result<(), AgentError> {
        let Some(taps) = &mut self.taps else { return Ok(()) };
        let queue = self.switch.urgent_cpu();
        queue.clear_wakeup();
        for _ in 0..4096 {
            let Some(bytes) = queue.try_receive() else { break };
            if let Some((header, packet)) = PacketIn::split(&bytes) {
                taps.hand_over(header.port, packet);
            }
        }
        let injector = self.switch.injector();
        for target in taps.exchange(&injector, &self.setup.links) {
            self.program_way(target)?;
        }
        Ok(())
    }

    /// Whether and by which next hop a target can be reached now.
    fn way(&self, target: Target) -> Way {
        let next_hop = self.ways.next_hop(target);
        match self.setup.links.bfd_link(target) {
            Some(link) if !self.bfd.is_up(link) => Way::Down(next_hop),
            _ if self.taps.as_ref().is_some_and(|taps| taps.is_down(target)) => Way::Down(next_hop),
            _ => next_hop.map_or(Way::Unresolved, Way::Up),
        }
    }

    /// Tells BFD how to reach a target now.
    fn tell_bfd(&self, target: Target) {
        if let Some(link) = self.setup.links.bfd_link(target) {
            let direct = self.ways.is_direct(target);
            self.bfd.set_way(link, self.ways.next_hop(target).map(|next_hop| bfd::Way { next_hop, direct }));
        }
    }

    /// Brings the tables in line with what BFD has found out.
    fn follow_bfd(&mut self) -> Result<(), AgentError> {
        for (link, change) in self.bfd.take_changes() {
            tracing::info!(%link, ?change, "BFD");
            if let Some(target) = self.setup.links.target(link) {
                self.program_way(target)?;
            }
        }
        Ok(())
    }

    /// Puts the way to a target into the tables as it is now.
    fn program_way(&self, target: Target) -> Result<(), ControlError> {
        self.tell_bfd(target);
        let way = self.way(target);
        match target {
            Target::External(id) => {
                let Some(link) = self.setup.links.interface(id) else { return Ok(()) };
                tracing::info!(interface = link.id, remote = %link.underlay.remote, ?way, "way to another AS");
                self.vdp.put(&tables::external(link, way))
            }
            Target::Sibling(number) => {
                let Some(sibling) = self.setup.links.sibling(number) else { return Ok(()) };
                tracing::info!(router = %sibling.name, address = %sibling.address, ?way, "way to a sibling router");
                for entry in tables::sibling_ways(self.setup.links.internal, sibling, way) {
                    self.vdp.put(&entry)?;
                }
                Ok(())
            }
            Target::Host(host) => {
                tracing::debug!(%host, ?way, "way to a host");
                match way {
                    Way::Up(next_hop) => self.vdp.put(&tables::host(host, next_hop)),
                    _ => self.vdp.delete(&tables::no_host(host)),
                }
            }
        }
    }

    fn take_punted(&mut self) {
        let queue = self.switch.cpu();
        queue.clear_wakeup();
        let start = Instant::now();
        // The queue may fill as fast as it is emptied: no more than it holds at a time.
        for _ in 0..4096 {
            let Some(bytes) = queue.try_receive() else { break };
            self.slow_path_time.packets += 1;
            let Some((header, packet)) = PacketIn::split(&bytes) else { continue };
            let seen = self.punted.entry(header.reason).or_insert(0);
            *seen += 1;
            if *seen == 1 {
                let reason = Reason::from_number(header.reason).map_or("?".into(), Reason::label);
                tracing::info!(reason, ingress = header.ingress, egress = header.egress, "first packet punted");
            }
            if header.reason == Reason::NextHopUnresolved as u8 {
                self.wait_for_next_hop(&header, packet);
            } else if let Some(taps) = self.taps.as_mut().filter(|taps| taps.have(header.port)) {
                taps.hand_over(header.port, packet);
            } else {
                self.answer(&header, packet);
            }
        }
        self.slow_path_time.ns += start.elapsed().as_nanos() as u64;
    }

    /// Answers a packet that the program has punted, or completes it.
    fn answer(&mut self, header: &PacketIn, packet: &[u8]) {
        let injector = self.switch.injector();
        let sent = match self.slow_path.handle(packet, header, &self.setup.links, Instant::now(), wall_clock_us()) {
            Outcome::Reply(_, frame) | Outcome::Bounce(frame) => {
                let sent = injector.transmit(header.port.into(), &frame);
                let way_out = scmp::way_out(&frame, header.ingress, &self.setup.links);
                if let (Ok(()), Some((link, bytes))) = (sent, way_out) {
                    self.own_packets.count(link, bytes);
                }
                sent
            }
            Outcome::Process { frame, l4_port } => {
                let header = PacketOut { l4_port, ..PacketOut::process(header.port) };
                injector.packet_out(CPU_PORT, &header.before(&frame))
            }
            Outcome::Drop(_) => Ok(()),
        };
        if sent.is_err() {
            self.slow_path.not_sent();
        }
    }

    /// Keeps a packet until its next hop is known.
    fn wait_for_next_hop(&mut self, header: &PacketIn, packet: &[u8]) {
        let target = match header.next_hop {
            Some(host) => Target::Host(host),
            None => {
                let links = &self.setup.links;
                let external = links.interface(header.egress).map(|e| Target::External(e.id));
                let sibling = || links.owner(header.egress).map(|s| Target::Sibling(s.number));
                let Some(target) = external.or_else(sibling) else { return };
                target
            }
        };
        let now = Instant::now();
        if let Target::Host(host) = target {
            if self.ways.len() >= HOSTS {
                self.waiting_lost += 1;
                return;
            }
            self.ways.add(target, host, self.setup.links.internal.ip(), &mut self.kernel, now);
        }
        let packets = self.waiting.entry(target).or_default();
        if packets.len() < WAITING_EACH && self.waiting_count < WAITING_ALL {
            packets.push_back((now, header.port, packet.to_vec()));
            self.waiting_count += 1;
        } else {
            self.waiting_lost += 1;
        }
        if self.ways.next_hop(target).is_some() {
            // It came while the entry was on its way into the table.
            self.send_waiting(target);
        }
    }

    /// Gives the packets that waited for a target to the program once more.
    fn send_waiting(&mut self, target: Target) {
        let injector = self.switch.injector();
        for (_, port, packet) in self.waiting.remove(&target).unwrap_or_default() {
            self.waiting_count -= 1;
            if injector.packet_out(CPU_PORT, &PacketOut::process(port).before(&packet)).is_err() {
                self.waiting_lost += 1;
                tracing::debug!("no room for a packet that waited");
            }
        }
    }

    /// Gives up the packets that wait for a target.
    fn give_up_waiting(&mut self, target: Target) {
        let lost = self.waiting.remove(&target).map_or(0, |packets| packets.len());
        self.waiting_count -= lost;
        self.waiting_lost += lost as u64;
    }

    /// Gives up packets that have waited too long.
    fn expire(&mut self, now: Instant) {
        let (count, lost) = (&mut self.waiting_count, &mut self.waiting_lost);
        self.waiting.retain(|_, packets| {
            while packets.front().is_some_and(|(since, ..)| now.duration_since(*since) > WAITING_TIME) {
                packets.pop_front();
                *count -= 1;
                *lost += 1;
            }
            !packets.is_empty()
        });
    }

    /// What the agent knows and the data plane's counters do not.
    fn figures(&self) -> Figures {
        let mut own_packets = self.own_packets.clone();
        let mut sessions = BTreeMap::new();
        for status in self.bfd.status() {
            let Some(index) = self.setup.links.index(status.link) else { continue };
            let bfd::Counts { state_changes, sent, received, .. } = status.counts;
            own_packets.add(index, status.packet_bytes, sent);
            sessions.insert(index, Session { up: status.is_up(), state_changes, sent, received });
        }
        let slow_path = self.taps.as_ref().map_or_else(|| self.slow_path.counts().families(), Taps::families);
        Figures {
            sessions,
            waiting: self.waiting_count,
            waiting_lost: self.waiting_lost,
            hosts: self.ways.len(),
            own_packets,
            slow_path: self.slow_path_time,
            counts: slow_path.into_iter().chain([self.reload.figures().family()]).collect(),
        }
    }

    fn report(&self, options: &Options) -> Result<Stats, AgentError> {
        let mut stats = Stats::collect(&self.switch, &self.bfd.status(), self.started.elapsed().as_secs_f64())?;
        stats.slow_path = self.taps.as_ref().map_or_else(|| self.slow_path.counts().by_name(), Taps::by_name);
        stats.reloads = self.reload.figures();
        if let Some(file) = &options.stats {
            stats.write(file).map_err(|source| AgentError::Stats { file: file.clone(), source })?;
        }
        Ok(stats)
    }
}
