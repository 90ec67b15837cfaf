//! The agent: opens the devices, runs the program on them, and moves PDUs between the program, the IPC processes and
//! applications, on one thread.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use hopwright_dataplane::wait::{self, PollSet, Wakeup};
use hopwright_dataplane::{
    BuildError, ControlError, CpuQueue, Injector, Switch, SwitchBuilder, SwitchError, VirtualDataPlane, Worker,
};
use hopwright_host::http::{self, Listener, LogLevel, Server};
use hopwright_host::netlink::Netlink;
use hopwright_host::service_manager::ServiceManager;
use hopwright_ports::opener::OpenerError;
use hopwright_ports::{FrameMatch, Opener, Wanted};

use crate::applications::Applications;
use crate::config::{Config, ConfigError};
use crate::ipcp::{Ipcp, Transmit};
use crate::program::{CPU_PORT, PACKET_IN_BYTES, URGENT_CPU_PORT};
use crate::status::{self, Status};
use crate::tables::{RouterLink, Tables};

/// EtherType of the shim DIF over Ethernet.
const ETHER_TYPE: u16 = 0xd1f0;
const VLAN_TYPE: u16 = 0x8100;
/// Bytes of the largest PDU with its VLAN tag.
const MTU: u32 = 1504;
/// Time between two looks at what is due.
const TICK: Duration = Duration::from_millis(10);
/// The same while an application reads slowly.
const SHORT_TICK: Duration = Duration::from_millis(1);
/// Packets taken from a queue before others have their turn.
const BURST: usize = 256;
const STATUS_INTERVAL: Duration = Duration::from_millis(500);

/// Why a router does not start, or has stopped.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum AgentError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Program(#[from] BuildError),
    #[error("the program's tables: {0}")]
    Tables(#[from] ControlError),
    #[error("netlink: {0}")]
    Netlink(#[source] io::Error),
    #[error("there is no device {0} with an Ethernet address")]
    UnknownDevice(String),
    #[error("{device} has an MTU of {mtu}: 1,500 at least are needed")]
    SmallMtu { device: String, mtu: u32 },
    #[error("{0}")]
    Device(#[from] OpenerError),
    #[error(transparent)]
    Switch(#[from] SwitchError),
    #[error("{}: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("metrics.address = \"{address}\": {source}")]
    Metrics { address: String, source: io::Error },
    #[error("no thread: {0}")]
    Thread(#[source] io::Error),
    #[error("a worker died")]
    Worker,
}

/// What a running router is told from outside.
#[derive(Clone, Debug)]
pub struct Orders {
    /// To stop.
    pub stop: Arc<AtomicBool>,
    /// To read its configuration again.
    pub reload: Arc<AtomicBool>,
    /// Signalled with each of them.
    pub told: Arc<Wakeup>,
    /// Where the counters and the state are written each second.
    pub stats: Option<PathBuf>,
}

/// What the agent itself counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentCounts {
    pub not_injected: u64,
    pub table_writes: u64,
    pub reloads: u64,
}

/// A switch with the devices of a configuration as ports, by their place there.
pub struct Router {
    /// The switch.
    pub switch: Arc<Switch>,
    workers: Vec<Worker>,
    links: Vec<RouterLink>,
    netlink: Netlink,
}

impl Router {
    /// Opens the devices. With `everything` the program gets all frames of the devices, otherwise those of RINA.
    ///
    /// # Errors
    /// A device is not there or cannot be opened.
    pub fn open(config: &Config, vdp: Arc<VirtualDataPlane>, everything: bool) -> Result<Router, AgentError> {
        let netlink = Netlink::open().map_err(AgentError::Netlink)?;
        let links = links(config, &netlink)?;
        let (opener, pools) = Opener::new(&Wanted {
            choice: config.ports,
            mtu: MTU,
            devices: config.devices.len(),
            ..Wanted::default()
        })?;
        let mut builder = SwitchBuilder::new(vdp).cpu_port(CPU_PORT).urgent_cpu_port(URGENT_CPU_PORT).pools(pools);
        for (port, device) in config.devices.iter().enumerate() {
            let tagged = links.iter().any(|link| link.port == port as u32 && link.vlan != 0);
            let frames = match everything || tagged {
                true => FrameMatch::Everything,
                false => FrameMatch::EtherTypes(vec![ETHER_TYPE]),
            };
            let opened = opener.open(device, &frames)?;
            tracing::info!("port {port} is {device}, {}", opened.how);
            let ports = match config.queues.get(device) {
                Some(queues) => queues.attach(opened.ports),
                None => opened.ports,
            };
            builder = builder.ports(port as u32, ports);
        }
        let (switch, workers) = builder.build_workers()?;
        Ok(Router { switch, workers, links, netlink })
    }

    /// Starts to forward.
    pub fn forward(&mut self) -> Result<Vec<JoinHandle<()>>, AgentError> {
        let start = |(number, mut worker): (usize, Worker)| {
            std::thread::Builder::new().name(format!("worker-{number}")).spawn(move || worker.run())
        };
        self.workers.drain(..).enumerate().map(start).collect::<io::Result<_>>().map_err(AgentError::Thread)
    }
}

/// The links in the order of the configuration, with what the kernel knows of their devices.
fn links(config: &Config, netlink: &Netlink) -> Result<Vec<RouterLink>, AgentError> {
    let mut links = Vec::new();
    for (at, ipcp) in config.ipcps.iter().enumerate() {
        for (link, (name, vlan)) in ipcp.links.iter().enumerate() {
            let unknown = || AgentError::UnknownDevice(name.clone());
            let device = netlink.devices().values().find(|device| device.name == *name).ok_or_else(unknown)?;
            if device.mtu < 1500 {
                return Err(AgentError::SmallMtu { device: name.clone(), mtu: device.mtu });
            }
            links.push(RouterLink {
                ipcp: at,
                link,
                port: config.devices.iter().position(|device| device == name).unwrap_or_default() as u32,
                vlan: *vlan,
                mac: device.mac.ok_or_else(unknown)?,
                mtu: device.mtu.min(u16::MAX.into()) as u16,
            });
        }
    }
    Ok(links)
}

/// Runs a router with its IPC processes until it is told to stop.
///
/// # Errors
/// It cannot start, or a worker has died.
pub fn run(config: Config, level: Arc<dyn LogLevel>, orders: &Orders) -> Result<(), AgentError> {
    let vdp = crate::program::data_plane()?;
    let control = vdp.control().clone();
    let mut router = Router::open(&config, vdp, false)?;
    let applications = Applications::listen(&config.socket)
        .map_err(|source| AgentError::Socket { path: config.socket.clone(), source })?;
    let switch = router.switch.clone();
    let status = Status::new(switch.clone(), switch.default_tenant().clone());
    let server = serve(&config, status.clone(), level)?;
    let threads = router.forward()?;
    let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let ipcps: Vec<Ipcp> = config.ipcps.iter().map(|ipcp| Ipcp::new(ipcp.settings.clone(), epoch as u32)).collect();
    let seed = config.ipcps.iter().flat_map(|ipcp| ipcp.settings.name.as_str().bytes());
    let seed = seed.fold(17u32, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    let tables = Tables::new(control, seed)?;
    tables.set_syntaxes(&router.links, &ipcps)?;
    let mut agent = Agent::new(config, router, ipcps, tables, applications, status);
    wait::give_way();
    let result = agent.work(orders, &threads);
    drop(server);
    switch.stop();
    for thread in threads {
        thread.join().map_err(|_| AgentError::Worker)?;
    }
    result
}

fn serve(config: &Config, status: Arc<Status>, level: Arc<dyn LogLevel>) -> Result<Option<Server>, AgentError> {
    let Some(address) = &config.metrics else { return Ok(None) };
    let failed = |source| AgentError::Metrics { address: address.clone(), source };
    let listener = Listener::open(address).map_err(failed)?;
    tracing::info!(address, "serving metrics and status");
    http::serve(vec![(listener, status::pages(status, level))]).map(Some).map_err(failed)
}

struct Agent {
    config: Config,
    switch: Arc<Switch>,
    links: Vec<RouterLink>,
    /// Index into `links` by port and VLAN.
    by_place: BTreeMap<(u32, u16), usize>,
    netlink: Netlink,
    ipcps: Vec<Ipcp>,
    tables: Tables,
    /// What the tables say.
    written: Vec<crate::ipcp::Forwarding>,
    applications: Applications,
    queues: [CpuQueue; 2],
    injector: Injector,
    status: Arc<Status>,
    counts: AgentCounts,
    begin: Instant,
}

impl Agent {
    fn new(
        config: Config,
        router: Router,
        ipcps: Vec<Ipcp>,
        tables: Tables,
        applications: Applications,
        status: Arc<Status>,
    ) -> Agent {
        let Router { switch, links, netlink, .. } = router;
        let tenant = switch.default_tenant();
        Agent {
            by_place: links.iter().enumerate().map(|(at, link)| ((link.port, link.vlan), at)).collect(),
            queues: [tenant.urgent_cpu(), tenant.cpu()],
            injector: tenant.injector(),
            switch,
            links,
            config,
            netlink,
            ipcps,
            tables,
            written: Vec::new(),
            applications,
            status,
            counts: AgentCounts::default(),
            begin: Instant::now(),
        }
    }

    fn work(&mut self, orders: &Orders, workers: &[JoinHandle<()>]) -> Result<(), AgentError> {
        let mut manager = ServiceManager::new();
        let mut poll = PollSet::new();
        let (mut next_tick, mut next_status) = (Duration::ZERO, Duration::ZERO);
        let mut more = false;
        self.write_tables()?;
        manager.ready();
        for line in self.config.summary() {
            tracing::info!("{line}");
        }
        while !orders.stop.load(Ordering::Acquire) {
            if workers.iter().any(JoinHandle::is_finished) {
                return Err(AgentError::Worker);
            }
            if !more {
                let now = self.begin.elapsed();
                let due = self.ipcps.iter().filter_map(Ipcp::due).min().unwrap_or(next_tick).min(next_tick);
                let longest = if self.applications.blocked() { SHORT_TICK } else { TICK };
                poll.clear();
                poll.add(orders.told.as_fd().as_raw_fd());
                poll.add(self.netlink.event_fd());
                self.queues.iter().for_each(|queue| poll.add(queue.fd().as_raw_fd()));
                self.applications.descriptors(&mut self.ipcps).into_iter().for_each(|fd| poll.add(fd));
                poll.wait(due.saturating_sub(now).clamp(Duration::from_millis(1), longest));
            }
            orders.told.clear();
            if orders.reload.swap(false, Ordering::AcqRel) {
                self.reload();
            }
            self.queues.iter().for_each(CpuQueue::clear_wakeup);
            let now = self.begin.elapsed();
            let (management, rest) = self.receive(now);
            more = rest;
            let (links, devices) = (&self.links, &self.config.devices);
            let show = |ipcps: &[Ipcp]| status::describe(ipcps, links, devices);
            more |= self.applications.serve(&mut self.ipcps, now, &show);
            self.applications.deliver(&mut self.ipcps, now);
            if management || now >= next_tick {
                next_tick = now + TICK;
                self.look_at_links(now)?;
                self.ipcps.iter_mut().for_each(|ipcp| ipcp.tick(now));
                self.write_tables()?;
                self.applications.deliver(&mut self.ipcps, now);
            }
            self.ipcps.iter_mut().for_each(|ipcp| ipcp.transfer(now));
            self.transmit();
            if now >= next_status {
                next_status = now + STATUS_INTERVAL;
                manager.keep_alive(self.switch.rounds(), Instant::now());
                self.publish(orders);
            }
        }
        manager.stopping();
        self.publish(orders);
        Ok(())
    }

    fn publish(&self, orders: &Orders) {
        self.status.publish(status::describe(&self.ipcps, &self.links, &self.config.devices), self.counts);
        if let Some(path) = &orders.stats {
            let new = path.with_extension("new");
            let text = self.status.json().to_string();
            if let Err(error) = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path)) {
                tracing::warn!("{}: {error}", path.display());
            }
        }
    }

    /// Takes what the program has punted, layer management first. Returns whether there was some, and whether there may be
    /// more.
    fn receive(&mut self, now: Duration) -> (bool, bool) {
        let mut taken = [0; 2];
        for (queue, taken) in self.queues.iter().zip(&mut taken) {
            while *taken < BURST
                && let Some(packet) = queue.try_receive()
            {
                *taken += 1;
                let Some(([high, low, _], frame)) = packet.split_first_chunk::<PACKET_IN_BYTES>() else { continue };
                let port = u32::from(u16::from_be_bytes([*high, *low]));
                let Some((vlan, from, pdu)) = pdu(frame) else { continue };
                if let Some(at) = self.by_place.get(&(port, vlan)) {
                    let link = &self.links[*at];
                    self.ipcps[link.ipcp].receive(link.link, from, pdu, now);
                }
            }
        }
        (taken[0] > 0, taken.contains(&BURST))
    }

    /// Links without carrier are down at once.
    fn look_at_links(&mut self, now: Duration) -> Result<(), AgentError> {
        self.netlink.update().map_err(AgentError::Netlink)?;
        for link in &self.links {
            let name = &self.config.devices[link.port as usize];
            let device = self.netlink.devices().values().find(|device| device.name == *name);
            let up = device.is_some_and(|device| device.up && device.running);
            if !up && self.ipcps[link.ipcp].neighbour(link.link).is_some() {
                self.ipcps[link.ipcp].link_down(link.link, now);
            }
        }
        Ok(())
    }

    fn write_tables(&mut self) -> Result<(), AgentError> {
        if self.written.len() == self.ipcps.len()
            && self.ipcps.iter().zip(&self.written).all(|(ipcp, written)| ipcp.forwarding() == written)
        {
            return Ok(());
        }
        let port = |name: &String| self.config.devices.iter().position(|device| device == name);
        let thresholds =
            self.config.mark_from.iter().filter_map(|(name, from)| Some((port(name)? as u32, *from))).collect();
        self.tables.write(&self.links, &self.ipcps, &thresholds)?;
        self.written = self.ipcps.iter().map(|ipcp| ipcp.forwarding().clone()).collect();
        self.counts.table_writes += 1;
        Ok(())
    }

    fn transmit(&mut self) {
        for at in 0..self.ipcps.len() {
            for Transmit { link, to, priority, pdu } in self.ipcps[at].take_transmits() {
                let Some(place) = self.links.iter().find(|l| (l.ipcp, l.link) == (at, link)) else { continue };
                let mut frame = Vec::with_capacity(pdu.len() + 24);
                frame.extend((place.port as u16).to_be_bytes());
                frame.push(priority);
                frame.extend(to);
                frame.extend(place.mac);
                if place.vlan != 0 {
                    frame.extend(VLAN_TYPE.to_be_bytes());
                    frame.extend(place.vlan.to_be_bytes());
                }
                frame.extend(ETHER_TYPE.to_be_bytes());
                frame.extend(pdu);
                // A frame on Ethernet has 60 bytes at least.
                frame.resize(frame.len().max(PACKET_IN_BYTES + 60), 0);
                if self.injector.packet_out(CPU_PORT, &frame).is_err() {
                    self.counts.not_injected += 1;
                }
            }
        }
    }

    /// Reads the configuration again. What concerns devices, names or the socket needs a restart; a file with errors
    /// changes nothing.
    fn reload(&mut self) {
        let config = match Config::read(&self.config.file) {
            Ok(config) => config,
            Err(error) => return tracing::error!("not reloaded: {error}"),
        };
        let same = config.devices == self.config.devices
            && config.socket == self.config.socket
            && config.metrics == self.config.metrics
            && config.queues == self.config.queues
            && config.ipcps.len() == self.config.ipcps.len()
            && config.ipcps.iter().zip(&self.config.ipcps).all(|(new, old)| {
                let (a, b) = (&new.settings, &old.settings);
                new.links == old.links
                    && (&a.name, &a.dif, a.syntax, a.address) == (&b.name, &b.dif, b.syntax, b.address)
            });
        if !same {
            return tracing::error!(
                "not reloaded: devices, queues, sockets, and the IPC processes' names, addresses and syntaxes need a restart"
            );
        }
        let now = self.begin.elapsed();
        for (ipcp, new) in self.ipcps.iter_mut().zip(&config.ipcps) {
            ipcp.reconfigure(new.settings.clone(), now);
        }
        self.config = config;
        self.written.clear();
        self.counts.reloads += 1;
        tracing::info!("reloaded");
    }
}

/// VLAN, sender and PDU of a frame.
fn pdu(frame: &[u8]) -> Option<(u16, [u8; 6], &[u8])> {
    let from = *frame.get(6..)?.first_chunk::<6>()?;
    let word = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let (vlan, kind, pdu) = match word(12)? {
        VLAN_TYPE => (word(14)? & 0xfff, word(16)?, frame.get(18..)?),
        kind => (0, kind, frame.get(14..)?),
    };
    (kind == ETHER_TYPE).then_some((vlan, from, pdu))
}
