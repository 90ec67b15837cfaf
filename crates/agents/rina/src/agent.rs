//! The agent: opens the devices, runs the program on them, and moves PDUs between the program, the IPC processes and
//! applications, on one thread.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use hopwright_dataplane::wait::{self, PollSet, Wakeup};
use hopwright_dataplane::{Control, Switch, SwitchBuilder, VirtualDataPlane, Worker};
use hopwright_host::http::{self, Listener, LogLevel, Server};
use hopwright_host::netlink::{Neighbour, Netlink};
use hopwright_host::service_manager::ServiceManager;
use hopwright_ports::{FrameMatch, Opener, Wanted};
use sha2::{Digest, Sha256};

use crate::applications::Applications;
use crate::border_tables::BorderTables;
use crate::config::{Config, Link};
use crate::error::AgentError;
use crate::frames::{self, ARP_TYPE, Carries, Protection, RINA_TYPE, Shim};
use crate::ipcp::{Ipcp, MANAGEMENT_PRIORITY, Settings, Transmit};
use crate::lower_flows::{LowerFlows, STATION};
use crate::neighbour::{BROADCAST, Mac};
use crate::plain::arp;
use crate::plane::Plane;
use crate::program::{CPU_PORT, Kind, PACKET_IN_BYTES, URGENT_CPU_PORT};
use crate::status::{self, AgentCounts, Status};
use crate::tables::{LinkKind, RouterLink, Tables};

/// Bytes of the largest PDU with its VLAN tag.
const MTU: u32 = 1504;
/// Time between two questions of the kernel for a neighbour's station.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two looks at links, and at (N-1) flows that are missing. What IPC processes have to do is done when it is due.
const TICK: Duration = Duration::from_millis(10);
/// The same while an application reads slowly.
const SHORT_TICK: Duration = Duration::from_millis(1);
/// Packets taken from a queue before others have their turn.
const BURST: usize = 256;
/// Frames of layer management that wait for room in the switch, at most.
const MOST_WAITING: usize = 256;
const STATUS_INTERVAL: Duration = Duration::from_millis(500);

/// A running router, for who watches it: its switch, and what makes its state as JSON.
pub type Watch = (Arc<Switch>, Box<dyn Fn() -> Option<serde_json::Value> + Send + Sync>);

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
    /// Gets the router when it runs.
    pub watch: Option<Sender<Watch>>,
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
            headroom: vdp.headroom(),
            devices: config.devices.len(),
            ..Wanted::default()
        })?;
        let mut builder = SwitchBuilder::new(vdp).cpu_port(CPU_PORT).urgent_cpu_port(URGENT_CPU_PORT).pools(pools);
        for (port, device) in config.devices.iter().enumerate() {
            let here = || links.iter().filter(|link| link.port == port as u32);
            let datagrams = here().filter_map(|link| match &link.kind {
                LinkKind::Udp(shim) => Some(((*shim.local.ip()).into(), shim.local.port())),
                _ => None,
            });
            let datagrams: Vec<_> = datagrams.collect();
            let frames = if everything || here().any(|link| link.vlan != 0) {
                FrameMatch::Everything
            } else if datagrams.is_empty() {
                // Stations are found by ARP, which the kernel then does not see.
                let arp = here().any(|link| config.ipcps[link.ipcp].settings.dialect.credential().is_none());
                FrameMatch::EtherTypes(if arp { vec![RINA_TYPE, ARP_TYPE] } else { vec![RINA_TYPE] })
            } else if datagrams.len() == here().count() {
                FrameMatch::UdpDestinations(datagrams)
            } else {
                return Err(AgentError::MixedDevice(device.clone()));
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
        for (link, place) in ipcp.links.iter().enumerate() {
            let (kind, vlan) = match place {
                Link::Ethernet(_, vlan) => (LinkKind::Ethernet, *vlan),
                Link::Udp(_, shim, _) => (LinkKind::Udp(*shim), 0),
                Link::Flow(dif, to, qos) => {
                    let below = config.ipcps.iter().position(|other| other.settings.dif == *dif);
                    let lower = below.unwrap_or_default();
                    let by_program = config.is_carried_by_program(at, place);
                    (LinkKind::Flow { lower, to: to.clone(), qos: qos.clone(), by_program }, 0)
                }
            };
            let Some(name) = place.device().map(str::to_string) else {
                let (port, protection) = (u32::MAX, Protection::default());
                links.push(RouterLink { ipcp: at, link, kind, port, vlan, mac: [0; 6], protection, mtu: 0 });
                continue;
            };
            let unknown = || AgentError::UnknownDevice(name.clone());
            let port = config.port(&name).unwrap_or_default();
            if let Some(there) = config.switch.as_ref().and_then(|switch| switch.ports.get(&name)) {
                let mac = there.mac.unwrap_or_else(|| station(&ipcp.settings, &name));
                let (protection, mtu) = (ipcp.protections[link], there.mtu);
                links.push(RouterLink { ipcp: at, link, kind, port, vlan, mac, protection, mtu });
                continue;
            }
            let device = netlink.devices().values().find(|device| device.name == name).ok_or_else(unknown)?;
            if device.mtu < 1500 {
                return Err(AgentError::SmallMtu { device: name.clone(), mtu: device.mtu });
            }
            links.push(RouterLink {
                ipcp: at,
                link,
                kind,
                port,
                vlan,
                mac: device.mac.ok_or_else(unknown)?,
                protection: ipcp.protections[link],
                mtu: device.mtu.min(u16::MAX.into()) as u16,
            });
        }
    }
    Ok(links)
}

/// The address of a port of a switch elsewhere, if it is not configured: the same after each start, and another at each member.
fn station(settings: &Settings, port: &str) -> Mac {
    let hash = Sha256::digest(format!("{}/{}/{port}", settings.dif, settings.name));
    // Locally administered.
    [2, hash[0], hash[1], hash[2], hash[3], hash[4]]
}

/// Runs a router with its IPC processes until it is told to stop.
///
/// # Errors
/// It cannot start, or a worker has died.
pub fn run(config: Config, level: Arc<dyn LogLevel>, orders: &Orders) -> Result<(), AgentError> {
    let Start { plane, control, threads, links, netlink } = start(&config)?;
    let applications = Applications::listen(&config.socket)
        .map_err(|source| AgentError::Socket { path: config.socket.clone(), source })?;
    let flows = links.iter().enumerate().filter(|(_, link)| matches!(link.kind, LinkKind::Flow { .. }));
    let flows = flows.map(|(at, link)| (at as u64 + 1, config.ipcps[link.ipcp].links[link.link].to_string())).collect();
    let switch = match &plane {
        Plane::Here { switch, .. } => Some(switch.clone()),
        Plane::Elsewhere(_) => None,
    };
    let status = Status::new(switch.clone(), control.clone(), flows);
    let server = serve(&config, status.clone(), level)?;
    if let (Some(watch), Some(switch)) = (&orders.watch, &switch) {
        let status = status.clone();
        // Who no longer wants it is no reason to end.
        let _ = watch.send((switch.clone(), Box::new(move || Some(status.json()))));
    }
    let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut ipcps: Vec<Ipcp> = config.ipcps.iter().map(|ipcp| Ipcp::new(ipcp.settings.clone(), epoch as u32)).collect();
    let seed = config.ipcps.iter().flat_map(|ipcp| ipcp.settings.name.as_str().bytes());
    let seed = seed.fold(17u32, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    let tables = match config.program() {
        Kind::Interior => {
            let tables = Tables::new(control, seed)?;
            tables.set_syntaxes(&links, &ipcps)?;
            Program::Interior(tables)
        }
        Kind::Border => Program::Border(BorderTables::new(control)),
    };
    let lower_flows = LowerFlows::new(&links, &mut ipcps);
    let mut agent = Agent::new(config, plane, (links, netlink), (ipcps, lower_flows), tables, applications, status);
    wait::give_way();
    let result = agent.work(orders, &threads);
    drop(server);
    drop(agent);
    if let Some(switch) = switch {
        switch.stop();
    }
    for thread in threads {
        thread.join().map_err(|_| AgentError::Worker)?;
    }
    result
}

/// What a router begins with.
struct Start {
    plane: Plane,
    control: Arc<Control>,
    threads: Vec<JoinHandle<()>>,
    links: Vec<RouterLink>,
    netlink: Netlink,
}

/// Starts to forward, or to drive a switch elsewhere.
fn start(config: &Config) -> Result<Start, AgentError> {
    let Some(elsewhere) = &config.switch else {
        let vdp = crate::program::data_plane(config.program())?;
        let control = vdp.control().clone();
        let mut router = Router::open(config, vdp, false)?;
        let threads = router.forward()?;
        let Router { switch, links, netlink, .. } = router;
        return Ok(Start { plane: Plane::here(switch), control, threads, links, netlink });
    };
    let netlink = Netlink::open().map_err(AgentError::Netlink)?;
    let links = links(config, &netlink)?;
    let (plane, control) = Plane::elsewhere(config, elsewhere)?;
    Ok(Start { plane, control, threads: Vec::new(), links, netlink })
}

fn serve(config: &Config, status: Arc<Status>, level: Arc<dyn LogLevel>) -> Result<Option<Server>, AgentError> {
    let Some(address) = &config.metrics else { return Ok(None) };
    let failed = |source| AgentError::Metrics { address: address.clone(), source };
    let listener = Listener::open(address).map_err(failed)?;
    tracing::info!(address, "serving metrics and status");
    http::serve(vec![(listener, status::pages(status, level))]).map(Some).map_err(failed)
}

/// The tables of the program that runs.
enum Program {
    Interior(Tables),
    Border(BorderTables),
}

/// What tables were written from: the forwarding of each IPC process, which (N-1) flows there were, and where neighbours
/// of links over UDP were.
type Written = (Vec<crate::ipcp::Forwarding>, u64, BTreeMap<usize, Mac>);

struct Agent {
    config: Config,
    plane: Plane,
    links: Vec<RouterLink>,
    /// Index into `links` by port, VLAN and datagram addresses.
    by_place: BTreeMap<(u32, u16, Option<Shim>), usize>,
    /// Stations of neighbours of links over UDP, as the kernel knows them.
    stations: BTreeMap<usize, Mac>,
    next_probe: Duration,
    /// Links whose devices have a carrier.
    carriers: BTreeSet<usize>,
    lower_flows: LowerFlows,
    netlink: Netlink,
    ipcps: Vec<Ipcp>,
    tables: Program,
    written: Option<Written>,
    applications: Applications,
    /// Frames of layer management that the switch had no room for.
    waiting: VecDeque<Vec<u8>>,
    status: Arc<Status>,
    counts: AgentCounts,
    begin: Instant,
}

impl Agent {
    fn new(
        config: Config,
        plane: Plane,
        (links, netlink): (Vec<RouterLink>, Netlink),
        (ipcps, lower_flows): (Vec<Ipcp>, LowerFlows),
        tables: Program,
        applications: Applications,
        status: Arc<Status>,
    ) -> Agent {
        Agent {
            by_place: links.iter().enumerate().filter_map(|(at, link)| Some((place(link)?, at))).collect(),
            stations: BTreeMap::new(),
            next_probe: Duration::ZERO,
            carriers: BTreeSet::new(),
            lower_flows,
            waiting: VecDeque::new(),
            plane,
            links,
            config,
            netlink,
            ipcps,
            tables,
            written: None,
            applications,
            status,
            counts: AgentCounts::default(),
            begin: Instant::now(),
        }
    }

    fn work(&mut self, orders: &Orders, workers: &[JoinHandle<()>]) -> Result<(), AgentError> {
        let mut manager = ServiceManager::new();
        let mut poll = PollSet::new();
        let (mut next_tick, mut next_write, mut next_status) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
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
                let soon = self.applications.blocked() || !self.waiting.is_empty();
                let longest = if soon { SHORT_TICK } else { TICK };
                poll.clear();
                poll.add(orders.told.as_fd().as_raw_fd());
                poll.add(self.netlink.event_fd());
                self.plane.descriptors().into_iter().for_each(|fd| poll.add(fd));
                self.applications.descriptors(&self.ipcps).into_iter().for_each(|fd| poll.add(fd));
                poll.wait(due.saturating_sub(now).clamp(Duration::from_millis(1), longest));
            }
            orders.told.clear();
            if orders.reload.swap(false, Ordering::AcqRel) {
                self.reload();
            }
            self.plane.clear_wakeups();
            let now = self.begin.elapsed();
            let (management, rest) = self.receive(now);
            more = rest;
            let config = &self.config;
            let show = |ipcps: &[Ipcp]| status::describe(ipcps, config);
            more |= self.applications.serve(&mut self.ipcps, now, &show);
            let carried = self.lower_flows.deliver(&self.links, &mut self.ipcps, now);
            self.applications.deliver(&mut self.ipcps, now);
            if management || carried || now >= next_tick {
                next_tick = now + TICK;
                self.look_at_links(now)?;
                self.lower_flows.tick(&self.links, &mut self.ipcps, now);
            }
            let mut any = false;
            for ipcp in &mut self.ipcps {
                if management || carried || ipcp.due().is_some_and(|due| now >= due) {
                    ipcp.tick(now);
                    any = true;
                }
            }
            if any || now >= next_write {
                next_write = now + TICK;
                self.write_tables()?;
            }
            self.events(now);
            self.transmit_waiting();
            // The DIFs above send by those below, which come before them.
            for at in (0..self.ipcps.len()).rev() {
                self.ipcps[at].transfer(now);
                self.transmit(at);
            }
            more |= self.ipcps.iter().any(Ipcp::has_events);
            if now >= next_status {
                next_status = now + STATUS_INTERVAL;
                manager.keep_alive(self.plane.progress(), Instant::now());
                self.publish(orders);
            }
        }
        manager.stopping();
        self.applications.stop();
        for at in (0..self.ipcps.len()).rev() {
            self.ipcps[at].stop(self.begin.elapsed());
            self.transmit(at);
        }
        self.plane.flush();
        self.publish(orders);
        Ok(())
    }

    fn publish(&self, orders: &Orders) {
        self.status.publish(status::describe(&self.ipcps, &self.config), self.plane.describe(), self.counts);
        if let Some(path) = &orders.stats {
            let text = self.status.json().to_string();
            if let Err(error) = hopwright_host::files::replace(path, text.as_bytes()) {
                tracing::warn!("{}: {error}", path.display());
            }
        }
    }

    /// Takes what the program has punted, layer management first. Returns whether there was some, and whether there may be
    /// more.
    fn receive(&mut self, now: Duration) -> (bool, bool) {
        let mut taken = [0; 2];
        let Agent { plane, by_place, links, ipcps, .. } = self;
        for (queue, taken) in taken.iter_mut().enumerate() {
            let mut take = |packet: &[u8]| -> Option<()> {
                let ([high, low, _], frame) = packet.split_first_chunk::<PACKET_IN_BYTES>()?;
                let port = u32::from(u16::from_be_bytes([*high, *low]));
                let received = frames::parse(frame)?;
                let link = &links[*by_place.get(&(port, received.vlan, received.shim))?];
                let ipcp = &mut ipcps[link.ipcp];
                match received.arp {
                    true => ipcp.receive_arp(link.link, received.pdu, now),
                    false => ipcp.receive(link.link, received.from, link.protection.remove(received.pdu), now),
                }
                Some(())
            };
            while *taken < BURST && plane.receive(queue, |packet| take(packet).unwrap_or_default()) {
                *taken += 1;
            }
        }
        (taken[0] > 0, taken.contains(&BURST))
    }

    /// Links that lose their carrier are down at once. The kernel says up to a second late that a device has one, and a neighbour can be up before.
    fn look_at_links(&mut self, now: Duration) -> Result<(), AgentError> {
        self.netlink.update().map_err(AgentError::Netlink)?;
        if self.config.switch.is_some() {
            // Nobody tells of carriers elsewhere.
            return Ok(());
        }
        for (at, link) in self.links.iter().enumerate() {
            let Some(name) = self.config.devices.get(link.port as usize) else { continue };
            let device = self.netlink.devices().values().find(|device| device.name == *name);
            if device.is_some_and(|device| device.up && device.running) {
                self.carriers.insert(at);
            } else if self.carriers.remove(&at) {
                self.ipcps[link.ipcp].link_down(link.link, now);
            }
        }
        self.find_stations(now);
        Ok(())
    }

    /// Asks the kernel where the neighbours of links over UDP are.
    fn find_stations(&mut self, now: Duration) {
        let probe = now >= self.next_probe;
        if probe {
            self.next_probe = now + PROBE_INTERVAL;
        }
        for (at, link) in self.links.iter().enumerate() {
            let Link::Udp(name, _, next) = &self.config.ipcps[link.ipcp].links[link.link] else { continue };
            let device = self.netlink.devices().values().find(|device| device.name == *name);
            let Some(index) = device.map(|device| device.index) else { continue };
            let next = IpAddr::from(*next);
            match self.netlink.neighbour(index, next) {
                Some(Neighbour::Known { mac, .. }) => drop(self.stations.insert(at, mac)),
                _ if probe => {
                    if let Err(error) = self.netlink.probe(index, next) {
                        tracing::debug!(%next, "cannot ask for the neighbour: {error}");
                    }
                }
                _ => {}
            }
        }
    }

    /// Tells those whose flows they are what has become of them.
    fn events(&mut self, now: Duration) {
        for at in 0..self.ipcps.len() {
            while let Some((flow, event)) = self.ipcps[at].next_event() {
                if !self.lower_flows.event(at, flow, &event, &self.links, &mut self.ipcps, now) {
                    self.applications.event((at, flow), event, &mut self.ipcps, now);
                }
            }
        }
    }

    fn write_tables(&mut self) -> Result<(), AgentError> {
        let unchanged = |(forwarding, flows, stations): &Written| {
            *flows == self.lower_flows.version()
                && *stations == self.stations
                && self.ipcps.iter().zip(forwarding).all(|(ipcp, written)| ipcp.forwarding() == written)
        };
        if self.written.as_ref().is_some_and(unchanged) {
            return Ok(());
        }
        let thresholds = self.config.mark_from.iter();
        let thresholds = thresholds.filter_map(|(name, from)| Some((self.config.port(name)?, *from))).collect();
        match &mut self.tables {
            Program::Interior(tables) => tables.write(&self.links, &self.ipcps, &thresholds)?,
            Program::Border(tables) => {
                tables.write(&self.links, &self.ipcps, &self.lower_flows, &self.stations, &thresholds)?
            }
        }
        self.plane.written()?;
        let forwarding = self.ipcps.iter().map(|ipcp| ipcp.forwarding().clone()).collect();
        self.written = Some((forwarding, self.lower_flows.version(), self.stations.clone()));
        self.counts.table_writes += 1;
        Ok(())
    }

    /// Sends what an IPC process has to send.
    fn transmit(&mut self, at: usize) {
        let mut transmits = self.ipcps[at].take_transmits();
        // Layer management does not wait behind data.
        transmits.sort_by_key(|transmit| transmit.priority != MANAGEMENT_PRIORITY);
        for transmit in transmits {
            let link = transmit.link;
            let Some(number) = self.links.iter().position(|l| (l.ipcp, l.link) == (at, link)) else { continue };
            let place = &self.links[number];
            if let LinkKind::Flow { lower, .. } = &place.kind {
                let sent = self.lower_flows.send(number, *lower, &transmit, &mut self.ipcps);
                let data = usize::from(transmit.priority != MANAGEMENT_PRIORITY);
                self.counts.no_room[data] += u64::from(!sent && self.lower_flows.open(number).is_some());
                continue;
            }
            let Transmit { to, priority, mut pdu, arp, .. } = transmit;
            let (to, what) = match &place.kind {
                LinkKind::Ethernet if arp => (to, Carries::Arp),
                LinkKind::Ethernet => (to, Carries::Pdu),
                LinkKind::Udp(shim) => match self.stations.get(&number) {
                    Some(station) => (*station, Carries::Datagram(*shim)),
                    // A neighbour that was heard before the kernel knows it.
                    None if to != BROADCAST && to != STATION => (to, Carries::Datagram(*shim)),
                    None => continue,
                },
                LinkKind::Flow { .. } => continue,
            };
            let mut frame = Vec::with_capacity(pdu.len() + 64);
            frame.extend((place.port as u16).to_be_bytes());
            frame.push(priority);
            match arp {
                true => arp::set_station(&mut pdu, place.mac),
                false => pdu = place.protection.add(pdu),
            }
            frames::write(to, place.mac, place.vlan, what, &pdu, &mut frame);
            if self.plane.send(&frame) {
                continue;
            }
            if priority == MANAGEMENT_PRIORITY && self.waiting.len() < MOST_WAITING {
                self.waiting.push_back(frame);
            } else {
                self.counts.not_injected += 1;
            }
        }
    }

    /// Sends layer management that the switch had no room for, because of data.
    fn transmit_waiting(&mut self) {
        while let Some(frame) = self.waiting.pop_front() {
            if !self.plane.send(&frame) {
                return self.waiting.push_front(frame);
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
            && config.switch == self.config.switch
            && config.ipcps.len() == self.config.ipcps.len()
            && config.ipcps.iter().zip(&self.config.ipcps).all(|(new, old)| {
                let (a, b) = (&new.settings, &old.settings);
                (&new.links, &new.protections) == (&old.links, &old.protections)
                    && (&a.name, &a.dif, a.syntax, a.address, a.encryption)
                        == (&b.name, &b.dif, b.syntax, b.address, b.encryption)
            });
        if !same {
            return tracing::error!(
                "not reloaded: devices, queues, sockets, the switch, and the IPC processes' names, addresses, syntaxes and encryption need a restart"
            );
        }
        let now = self.begin.elapsed();
        for (ipcp, new) in self.ipcps.iter_mut().zip(&config.ipcps) {
            ipcp.reconfigure(new.settings.clone(), now);
        }
        self.config = config;
        self.written = None;
        self.counts.reloads += 1;
        tracing::info!("reloaded");
    }
}

/// Where the PDUs of a link come in; nowhere if it is an (N-1) flow.
fn place(link: &RouterLink) -> Option<(u32, u16, Option<Shim>)> {
    match &link.kind {
        LinkKind::Ethernet => Some((link.port, link.vlan, None)),
        LinkKind::Udp(shim) => Some((link.port, link.vlan, Some(*shim))),
        LinkKind::Flow { .. } => None,
    }
}
