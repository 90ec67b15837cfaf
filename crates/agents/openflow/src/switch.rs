//! What the switch answers its controllers, and what it tells them by itself.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use hopwright_dataplane::{Injector, PortStats};
use tokio::sync::mpsc;

use crate::codec::field::Field;
use crate::codec::reply::{self, Identity, PacketInReason, PortChange, PortCounts, PortDescription, TableCounts};
use crate::codec::request::{FlowCommand, FlowMod, Multipart, PacketOut, PortMod};
use crate::codec::{
    Action, GROUP_ANY, HEADER, Header, Instructions, Match, Refusal, Replies, Request, TABLE_ALL, Version, port,
};
use crate::counters::Counters;
use crate::datapath::{Datapath, FLOWS, GROUPS, PacketInHeader, Removed, TABLES, port_config};

/// The CPU port of the program.
const CPU_PORT: u32 = 510;
/// `flow` of packets that controllers sent to controllers.
const NO_FLOW: u32 = u32::MAX;
/// Seconds for which a switch that stands alone knows an address without hearing from it.
const LEARNED_FOR: u16 = 60;
/// Addresses that a switch that stands alone knows.
const LEARNED: usize = 8192;

/// `OFPCR_ROLE_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Role {
    Equal = 1,
    Master = 2,
    Slave = 3,
}

/// Kinds of messages that the switch sends by itself, in the order of the masks of asynchronous configuration.
#[derive(Clone, Copy, Debug)]
enum Event {
    PacketIn = 0,
    PortStatus = 1,
    FlowRemoved = 2,
}

/// A connected controller.
struct Controller {
    version: Version,
    role: Role,
    /// For each kind of event the reasons of which it hears: as master or equal, and as slave.
    masks: [u32; 6],
    /// It hears of events. Those that connect themselves do once they have asked for packets, as with Open vSwitch.
    hears: bool,
    miss_send_len: u16,
    events: mpsc::Sender<Vec<u8>>,
}

/// The masks that controllers have at first (section 6.1.1): all reasons; slaves hear of ports.
const MASKS: [u32; 6] = [0b111, 0, 0b111, 0b111, 0b1111, 0];

impl Controller {
    fn hears_of(&self, event: Event, reason: u8) -> bool {
        let mask = self.masks[2 * event as usize + usize::from(self.role == Role::Slave)];
        self.hears && mask >> reason & 1 == 1
    }
}

/// The switch as its controllers see it.
pub(crate) struct Switch {
    datapath: Datapath,
    identity: Identity,
    name: String,
    started: Instant,
    injector: Injector,
    /// By the program's number of the port.
    port_stats: Box<dyn Fn() -> BTreeMap<u32, PortStats>>,
    controllers: HashMap<u64, Controller>,
    next_controller: u64,
    /// The largest generation of a role request.
    generation: Option<u64>,
    /// The switch stands alone and learns addresses: by address, the port and when it was heard of.
    learned: Option<HashMap<[u8; 6], (u32, Instant)>>,
    pub(crate) counters: Counters,
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    Stays,
    Ends,
}

impl Switch {
    pub(crate) fn new(
        datapath: Datapath,
        datapath_id: u64,
        name: String,
        injector: Injector,
        port_stats: Box<dyn Fn() -> BTreeMap<u32, PortStats>>,
    ) -> Switch {
        Switch {
            datapath,
            identity: Identity { datapath_id, tables: TABLES },
            name,
            started: Instant::now(),
            injector,
            port_stats,
            controllers: HashMap::new(),
            next_controller: 0,
            generation: None,
            learned: None,
            counters: Counters::default(),
        }
    }

    /// A controller has said hello. `events`: where messages go that it did not ask for; `service`: it connected itself.
    pub(crate) fn connected(&mut self, version: Version, service: bool, events: mpsc::Sender<Vec<u8>>) -> u64 {
        let controller = Controller {
            version,
            role: Role::Equal,
            masks: MASKS,
            hears: !service,
            miss_send_len: if service { 0 } else { 128 },
            events,
        };
        let id = self.next_controller;
        self.next_controller += 1;
        self.controllers.insert(id, controller);
        if !service && self.learned.take().is_some() {
            self.datapath.clear();
        }
        self.unmatched_packets();
        id
    }

    pub(crate) fn disconnected(&mut self, id: u64) {
        self.controllers.remove(&id);
        self.unmatched_packets();
    }

    /// There has been no controller for some time: the switch learns addresses as one without controllers does.
    pub(crate) fn stand_alone(&mut self) {
        if self.learned.is_none() {
            tracing::info!("no controller: the switch learns addresses by itself");
            self.datapath.clear();
            self.learned = Some(HashMap::new());
            self.unmatched_packets();
        }
    }

    /// Controllers of 1.0 get what no flow matches; with 1.3 it is dropped (section 5.4).
    fn unmatched_packets(&mut self) {
        let wants = |controller: &Controller| controller.version == Version::V10 && controller.hears;
        self.datapath.set_miss(self.learned.is_some() || self.controllers.values().any(wants));
    }

    /// Carries out a message of a controller; its answers.
    pub(crate) fn handle(&mut self, id: u64, header: Header, message: &[u8]) -> (Vec<Vec<u8>>, Connection) {
        self.counters.messages += 1;
        let Some(controller) = self.controllers.get(&id) else { return (Vec::new(), Connection::Ends) };
        let version = controller.version;
        let mut replies = Replies::new(version, header.xid);
        let request = if header.version == version.wire() {
            Request::read(version, header.kind, message.get(HEADER..).unwrap_or_default())
        } else {
            Err(Refusal::BAD_VERSION)
        };
        let done = request.and_then(|request| self.carry_out(id, request, &mut replies));
        if let Err(refusal) = done {
            self.counters.refused += 1;
            tracing::debug!("message of type {} refused: {refusal:?}", header.kind);
            replies = Replies::new(version, header.xid);
            replies.refuse(refusal, message);
        }
        (replies.into_messages(), Connection::Stays)
    }

    fn carry_out(&mut self, id: u64, request: Request, replies: &mut Replies) -> Result<(), Refusal> {
        let Some(controller) = self.controllers.get_mut(&id) else { return Ok(()) };
        let changes = matches!(
            request,
            Request::PacketOut(_)
                | Request::FlowMod(_)
                | Request::GroupMod(_)
                | Request::PortMod(_)
                | Request::TableMod { .. }
        );
        if changes && controller.role == Role::Slave {
            return Err(Refusal::IS_SLAVE);
        }
        match request {
            Request::Hello(_) | Request::EchoReply => {}
            Request::Error(kind, code) => tracing::info!("the controller refuses something: type {kind}, code {code}"),
            Request::Echo(data) => replies.echo_reply(&data),
            Request::Features => {
                let ports: Vec<PortDescription> = self.datapath.ports().cloned().collect();
                replies.features(self.identity, &ports);
            }
            Request::GetConfig => replies.config(controller.miss_send_len),
            Request::SetConfig { flags, miss_send_len } => {
                // Fragments are forwarded as they are.
                if flags != 0 && controller.version == Version::V13 {
                    return Err(Refusal::SWITCH_CONFIG_FLAGS);
                }
                controller.miss_send_len = miss_send_len;
                controller.hears |= miss_send_len > 0;
                self.unmatched_packets();
            }
            Request::PacketOut(request) => self.packet_out(&request)?,
            Request::FlowMod(request) => {
                self.counters.flow_mods += 1;
                let removed = self.datapath.flow_mod(&request)?;
                self.flows_removed(&removed);
            }
            Request::GroupMod(request) => {
                let removed = self.datapath.group_mod(&request)?;
                self.flows_removed(&removed);
            }
            Request::PortMod(request) => self.port_mod(request, replies.version())?,
            Request::TableMod { table, config } => {
                if table >= TABLES && table != TABLE_ALL {
                    return Err(Refusal::TABLE_MOD_TABLE);
                }
                // The bits of 1.1 and 1.2 are deprecated and have no effect (section 7.3.3).
                if config & !3 != 0 {
                    return Err(Refusal::TABLE_MOD_CONFIG);
                }
            }
            Request::Multipart(request) => self.multipart(&request, replies)?,
            Request::Barrier => replies.barrier(),
            Request::QueueConfig { port } => {
                if port != port::ANY && self.datapath.port(port).is_none() {
                    return Err(Refusal::QUEUE_PORT);
                }
                replies.queue_config(port);
            }
            Request::Role { role, generation } => self.role(id, role, generation, replies)?,
            Request::GetAsync => replies.asynchronous(controller.masks),
            Request::SetAsync(masks) => {
                controller.masks = masks;
                controller.hears = true;
            }
        }
        Ok(())
    }

    fn role(&mut self, id: u64, role: u32, generation: u64, replies: &mut Replies) -> Result<(), Refusal> {
        let wanted = match role {
            0 => None,
            1 => Some(Role::Equal),
            2 => Some(Role::Master),
            3 => Some(Role::Slave),
            _ => return Err(Refusal::ROLE_BAD),
        };
        if matches!(wanted, Some(Role::Master | Role::Slave)) {
            // Generations are compared as a circle (section 6.3.4).
            if self.generation.is_some_and(|known| (generation.wrapping_sub(known) as i64) < 0) {
                return Err(Refusal::ROLE_STALE);
            }
            self.generation = Some(generation);
        }
        if wanted == Some(Role::Master) {
            for other in self.controllers.values_mut().filter(|other| other.role == Role::Master) {
                other.role = Role::Slave;
            }
        }
        let Some(controller) = self.controllers.get_mut(&id) else { return Ok(()) };
        controller.role = wanted.unwrap_or(controller.role);
        replies.role(u32::from(controller.role as u8), self.generation.unwrap_or(u64::MAX));
        Ok(())
    }

    fn packet_out(&mut self, request: &PacketOut) -> Result<(), Refusal> {
        let reserved = matches!(request.in_port, port::CONTROLLER | port::ANY | port::LOCAL);
        if !reserved && !(1..=507).contains(&request.in_port) {
            return Err(Refusal::BAD_PORT);
        }
        let Some(header) = self.datapath.packet_out(request.in_port, &request.actions)? else { return Ok(()) };
        self.counters.packet_outs += 1;
        let packet = [&header, &request.data[..]].concat();
        if self.injector.packet_out(CPU_PORT, &packet).is_err() {
            self.counters.packet_outs_lost += 1;
        }
        Ok(())
    }

    fn port_mod(&mut self, request: PortMod, version: Version) -> Result<(), Refusal> {
        let Some(port) = self.datapath.port(request.port) else { return Err(Refusal::PORT_MOD_PORT) };
        if port.mac != request.mac {
            return Err(Refusal::PORT_MOD_ADDRESS);
        }
        let known = port_config::DOWN | port_config::NO_RECV | port_config::NO_FWD | port_config::NO_PACKET_IN;
        // 1.0 has bits for the spanning tree protocol, too, which has no effect.
        let known = if version == Version::V10 { known | port_config::NO_FLOOD } else { known };
        if request.mask & !known != 0 && version == Version::V13 {
            return Err(Refusal::PORT_MOD_CONFIG);
        }
        let mask = request.mask & known;
        let config = port.config & !mask | request.config & mask;
        if config != port.config {
            let changed = PortDescription { config, ..port.clone() };
            self.datapath.put_port(changed.clone());
            self.port_changed(PortChange::Modify, &changed);
        }
        Ok(())
    }

    fn multipart(&mut self, request: &Multipart, replies: &mut Replies) -> Result<(), Refusal> {
        let number = request.number();
        match request {
            Multipart::Description => {
                replies.multipart(number, [()], |_, (), out| reply::write_description(&self.name, out));
            }
            Multipart::Flows(filter) => {
                check_table(filter.table)?;
                let flows = self.datapath.selected_flows(filter);
                replies.multipart(number, flows, |version, (_, flow), out| {
                    // In 1.0 only the first table is seen.
                    if version == Version::V13 || flow.table == 0 {
                        flow.write(version, out);
                    }
                });
            }
            Multipart::Aggregate(filter) => {
                check_table(filter.table)?;
                let flows = self.datapath.selected_flows(filter);
                let sum = |of: fn(&reply::FlowView<'_>) -> u64| flows.iter().map(|(_, flow)| of(flow)).sum::<u64>();
                let (packets, bytes, count) = (sum(|f| f.packets), sum(|f| f.bytes), flows.len() as u32);
                replies.multipart(number, [()], |_, (), out| reply::write_aggregate(packets, bytes, count, out));
            }
            Multipart::Tables => {
                let tables = if replies.version() == Version::V10 { 0..1 } else { 0..TABLES };
                let counts: Vec<(u8, TableCounts)> = tables.map(|t| (t, self.datapath.table_counts(t))).collect();
                replies.multipart(number, counts, |version, (table, counts), out| {
                    reply::write_table(version, table, FLOWS, &counts, out);
                });
            }
            Multipart::Ports(wanted) => {
                let numbers: Vec<u32> = match *wanted {
                    port::ANY => self.datapath.ports().map(|port| port.number).collect(),
                    one if self.datapath.port(one).is_some() => vec![one],
                    _ => return Err(Refusal::BAD_PORT),
                };
                let stats = (self.port_stats)();
                let up = self.started.elapsed();
                replies.multipart(number, numbers, |version, port, out| {
                    let counts = stats.get(&port).map_or_else(PortCounts::default, counts_of);
                    counts.write(port, up, version, out);
                });
            }
            Multipart::Queues { port } => {
                if !matches!(*port, port::ANY | port::ALL) && self.datapath.port(*port).is_none() {
                    return Err(Refusal::QUEUE_PORT);
                }
                replies.multipart(number, [(); 0], |_, (), _| {});
            }
            Multipart::Groups(group) => {
                let groups = self.datapath.group_views(*group);
                replies.multipart(number, groups, |_, group, out| group.write_counts(out));
            }
            Multipart::GroupDescriptions => {
                let groups = self.datapath.group_views(GROUP_ANY);
                replies.multipart(number, groups, |_, group, out| group.write_description(out));
            }
            Multipart::GroupFeatures => {
                replies.multipart(number, [()], |_, (), out| reply::write_group_features(GROUPS, out));
            }
            Multipart::Meters | Multipart::MeterConfigs => replies.multipart(number, [(); 0], |_, (), _| {}),
            // No meters.
            Multipart::MeterFeatures => replies.multipart(number, [()], |_, (), out| out.extend([0; 16])),
            Multipart::TableFeatures => replies.multipart(number, 0..TABLES, |_, table, out| {
                reply::write_table_features(table, TABLES, FLOWS, out);
            }),
            Multipart::PortDescriptions => {
                replies.multipart(number, self.datapath.ports(), |version, port, out| port.write(version, out));
            }
        }
        Ok(())
    }

    /// Sends a message to the controllers that hear of it.
    fn tell(&mut self, event: Event, reason: u8, write: impl Fn(&mut Replies), which: impl Fn(&Controller) -> bool) {
        let mut written: Vec<(Version, Vec<u8>)> = Vec::new();
        for controller in self.controllers.values().filter(|c| c.hears_of(event, reason) && which(c)) {
            let version = controller.version;
            if !written.iter().any(|(of, _)| *of == version) {
                let mut message = Replies::new(version, 0);
                write(&mut message);
                written.push((version, message.into_message()));
            }
            let message = written.iter().find(|(of, _)| *of == version).map(|(_, message)| message.clone());
            if controller.events.try_send(message.unwrap_or_default()).is_err() {
                self.counters.events_lost += 1;
            }
        }
    }

    fn flows_removed(&mut self, removed: &[Removed]) {
        for removed in removed {
            self.counters.flows_removed += 1;
            let write = |out: &mut Replies| out.flow_removed(&removed.view(), removed.reason);
            self.tell(Event::FlowRemoved, removed.reason as u8, write, |_| true);
        }
    }

    fn port_changed(&mut self, change: PortChange, port: &PortDescription) {
        self.tell(Event::PortStatus, change as u8, |out| out.port_status(change, port), |_| true);
    }

    /// A packet that the program sent to its CPU port.
    pub(crate) fn packet_in(&mut self, bytes: &[u8]) {
        let Some((header, packet)) = PacketInHeader::split(bytes) else { return };
        self.counters.packet_ins += 1;
        let unmatched = header.flow == 0;
        if unmatched && self.learned.is_some() {
            return self.learn(header.in_port.into(), packet);
        }
        let cookie = self.datapath.cookie(header.flow).unwrap_or(u64::MAX);
        let reason = if unmatched || self.datapath.is_table_miss(header.flow) {
            PacketInReason::NoMatch
        } else {
            PacketInReason::Action
        };
        let in_port = match header.in_port {
            reserved @ 0xff00.. if header.flow == NO_FLOW => 0xffff_0000 | u32::from(reserved),
            port => port.into(),
        };
        let write = |out: &mut Replies| out.packet_in(in_port, reason, header.table, cookie, header.metadata, packet);
        self.tell(Event::PacketIn, reason as u8, write, |controller| !unmatched || controller.version == Version::V10);
    }

    /// Forwards a packet as a learning switch does.
    fn learn(&mut self, in_port: u32, packet: &[u8]) {
        let (Some(dst), Some(src)) = (packet.first_chunk::<6>(), packet.get(6..).and_then(<[u8]>::first_chunk::<6>))
        else {
            return;
        };
        let Some(learned) = &mut self.learned else { return };
        let multicast = |mac: &[u8; 6]| mac[0] & 1 == 1;
        let now = Instant::now();
        let kept = Duration::from_secs(LEARNED_FOR.into());
        if learned.len() >= LEARNED {
            learned.retain(|_, (_, since)| since.elapsed() < kept);
        }
        if !multicast(src) && (learned.len() < LEARNED || learned.contains_key(src)) {
            learned.insert(*src, (in_port, now));
        }
        let known = learned.get(dst).filter(|(_, since)| !multicast(dst) && since.elapsed() < kept);
        let to = known.map_or(port::FLOOD, |(port, _)| *port);
        let actions = vec![Action::Output { port: to, max_len: 0 }];
        let packet = PacketOut { in_port, actions: actions.clone(), data: packet.to_vec() };
        if to != port::FLOOD {
            let mut matching = Match::default();
            let number = |mac: &[u8; 6]| mac.iter().fold(0, |n, byte| n << 8 | u128::from(*byte));
            matching.add(Field::InPort, in_port.into(), Field::InPort.all());
            matching.add(Field::EthDst, number(dst), Field::EthDst.all());
            matching.add(Field::EthSrc, number(src), Field::EthSrc.all());
            let flow = FlowMod {
                command: FlowCommand::Add,
                table: 0,
                matching,
                priority: 1,
                cookie: 0,
                cookie_mask: 0,
                idle_timeout: LEARNED_FOR,
                // An address that moves is learned again in time.
                hard_timeout: LEARNED_FOR,
                out_port: port::ANY,
                out_group: GROUP_ANY,
                flags: 0,
                instructions: Instructions { apply: actions, ..Instructions::default() },
                version: Version::V13,
            };
            // Without room for it the next packet comes here, too.
            let _ = self.datapath.flow_mod(&flow);
        }
        // Ports that there are: nothing is refused.
        let _ = self.packet_out(&packet);
    }

    /// Ports of the switch as they are now. Configurations of ports that stay are kept.
    pub(crate) fn set_ports(&mut self, now: Vec<PortDescription>) {
        let gone: Vec<u32> = self.datapath.ports().map(|port| port.number).collect();
        for number in gone.into_iter().filter(|number| !now.iter().any(|port| port.number == *number)) {
            if let Some(port) = self.datapath.remove_port(number) {
                self.port_changed(PortChange::Delete, &port);
            }
        }
        for mut port in now {
            let old = self.datapath.port(port.number);
            port.config = old.map_or(0, |old| old.config);
            let change = match old {
                Some(old) if *old == port => continue,
                Some(_) => PortChange::Modify,
                None => PortChange::Add,
            };
            self.datapath.put_port(port.clone());
            self.port_changed(change, &port);
        }
    }

    /// Number of flows.
    pub(crate) fn flow_count(&self) -> u64 {
        self.datapath.flow_count() as u64
    }

    /// Removes all flows and groups, and forgets roles.
    pub(crate) fn clear(&mut self) {
        self.datapath.clear();
        assert_eq!(self.datapath.shared_entries(), 0, "something is left of flows that are gone");
        self.generation = None;
        for controller in self.controllers.values_mut() {
            (controller.role, controller.masks, controller.hears) = (Role::Equal, MASKS, true);
        }
    }

    /// Removes flows whose time is over.
    pub(crate) fn expire(&mut self) {
        let removed = self.datapath.expire();
        self.flows_removed(&removed);
        self.counters.flows = self.datapath.flow_count() as u64;
        self.counters.controllers = self.controllers.len() as u64;
    }
}

fn check_table(table: u8) -> Result<(), Refusal> {
    if !(TABLES..0xfe).contains(&table) { Ok(()) } else { Err(Refusal::BAD_TABLE_ID) }
}

fn counts_of(stats: &PortStats) -> PortCounts {
    PortCounts {
        rx_packets: stats.rx_packets,
        tx_packets: stats.tx_packets,
        rx_bytes: stats.rx_bytes,
        tx_bytes: stats.tx_bytes,
        rx_dropped: stats.device.rx_overrun + stats.device.rx_too_long,
        tx_dropped: stats.tx_lost,
        tx_errors: stats.device.tx_error,
        rx_overrun: stats.device.rx_overrun,
    }
}
