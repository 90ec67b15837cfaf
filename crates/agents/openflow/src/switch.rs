//! What the switch answers its controllers, and what it tells them by itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use hopwright_dataplane::{Injector, PortStats};
use tokio::sync::mpsc;

use crate::codec::reply::{self, Identity, PacketInReason, PortChange, PortCounts, PortDescription, TableCounts};
use crate::codec::request::{FlowCommand, FlowMod, Multipart, PacketOut, PortMod};
use crate::codec::{
    Action, GROUP_ANY, HEADER, Header, Match, QUEUE_ALL, Refusal, Replies, Request, TABLE_ALL, Version, port,
};
use crate::counters::Counters;
use crate::datapath::{
    BANDS, Datapath, FLOWS, GROUPS, LEARN_FLOW, METERS, PacketInHeader, QUEUES, Removed, TABLES, port_config,
};
use crate::journal::{Change, Journal};
use crate::program::CPU_PORT;

/// `OFPC_FRAG_DROP`.
const FRAGMENTS_DROPPED: u16 = 1;
/// `flow` of packets that controllers sent to controllers.
const NO_FLOW: u32 = u32::MAX;

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

/// The masks that controllers have at first (section 6.1.1): all reasons but that of packets whose time to live is invalid, which
/// are dropped; slaves hear of ports.
const MASKS: [u32; 6] = [0b011, 0, 0b111, 0b111, 0b1111, 0];

impl Controller {
    fn hears_of(&self, event: Event, reason: u8) -> bool {
        let mask = self.masks[2 * event as usize + usize::from(self.role == Role::Slave)];
        self.hears && mask >> reason & 1 == 1
    }
}

/// The switch as its controllers see it.
pub(crate) struct Switch {
    pub(crate) datapath: Datapath,
    identity: Identity,
    name: String,
    started: Instant,
    injector: Injector,
    /// By the program's number of the port.
    port_stats: Box<dyn Fn() -> BTreeMap<u32, PortStats>>,
    queued_ports: BTreeSet<u32>,
    controllers: HashMap<u64, Controller>,
    next_controller: u64,
    /// The largest generation of a role request.
    pub(crate) generation: Option<u64>,
    /// The switch stands alone: it forwards as a bridge.
    pub(crate) alone: bool,
    /// What has changed since the state was saved for another process.
    pub(crate) journal: Journal,
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
            queued_ports: BTreeSet::new(),
            controllers: HashMap::new(),
            next_controller: 0,
            generation: None,
            alone: false,
            journal: Journal::default(),
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
        if !service && self.alone {
            self.set_alone(false);
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
        if self.alone {
            return;
        }
        tracing::info!("no controller: the switch learns addresses by itself");
        self.set_alone(true);
    }

    /// The switch stands alone, or has controllers again: flows are forgotten.
    pub(crate) fn set_alone(&mut self, alone: bool) {
        self.journal.note(|| Change::Alone(alone));
        self.alone = alone;
        self.datapath.clear();
        if !alone {
            return;
        }
        let normal = vec![Action::Output { port: port::NORMAL, max_len: 0 }];
        let flow = FlowMod::new(FlowCommand::Add, 0, Match::default(), normal);
        if let Err(refusal) = self.datapath.flow_mod(&flow) {
            tracing::error!("the switch cannot stand alone: {refusal:?}");
        }
    }

    /// Controllers of 1.0 get what no flow matches; with 1.3 it is dropped (section 5.4).
    fn unmatched_packets(&mut self) {
        let wants = |controller: &Controller| controller.version == Version::V10 && controller.hears;
        self.datapath.set_miss(self.controllers.values().any(wants));
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
                | Request::MeterMod(_)
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
            Request::GetConfig => {
                let flags = if self.datapath.drops_fragments() { FRAGMENTS_DROPPED } else { 0 };
                replies.config(flags, controller.miss_send_len);
            }
            Request::SetConfig { flags, miss_send_len } => {
                // Fragments are forwarded as they are, or dropped; never reassembled.
                if flags & !FRAGMENTS_DROPPED != 0 && controller.version == Version::V13 {
                    return Err(Refusal::SWITCH_CONFIG_FLAGS);
                }
                controller.miss_send_len = miss_send_len;
                controller.hears |= miss_send_len > 0;
                self.datapath.set_fragments(flags == FRAGMENTS_DROPPED);
                self.journal.note(|| Change::Fragments(flags == FRAGMENTS_DROPPED));
                self.unmatched_packets();
            }
            Request::PacketOut(request) => self.packet_out(&request)?,
            Request::FlowMod(request) => {
                self.counters.flow_mods += 1;
                let removed = self.datapath.flow_mod(&request)?;
                self.journal.note(|| Change::Flow(request));
                self.flows_removed(&removed);
            }
            Request::GroupMod(request) => {
                let removed = self.datapath.group_mod(&request)?;
                self.journal.note(|| Change::Group(request));
                self.flows_removed(&removed);
            }
            Request::MeterMod(request) => {
                let removed = self.datapath.meter_mod(&request)?;
                self.journal.note(|| Change::Meter(request));
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
                replies.queue_config(port, &self.queues(port));
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
            self.journal.note(|| Change::Generation(generation));
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
        if !reserved && request.in_port > 507 {
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
            self.journal.note(|| Change::Port { number: changed.number, config });
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
            Multipart::Queues { port, queue } => {
                if !matches!(*port, port::ANY | port::ALL) && self.datapath.port(*port).is_none() {
                    return Err(Refusal::QUEUE_PORT);
                }
                if *queue >= QUEUES && *queue != QUEUE_ALL {
                    return Err(Refusal::QUEUE_QUEUE);
                }
                let mut queues = self.queues(*port);
                queues.retain(|(_, one)| *queue == QUEUE_ALL || one == queue);
                let (stats, up) = ((self.port_stats)(), self.started.elapsed());
                replies.multipart(number, queues, |version, (port, queue), out| {
                    let sent = stats.get(&port).map_or((0, 0), |port| (port.tx_packets, port.tx_bytes));
                    reply::write_queue((port, queue), self.queue_count(port, queue, sent), up, version, out);
                });
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
            Multipart::Meters(meter) => {
                let meters = self.datapath.meter_views(*meter)?;
                replies.multipart(number, meters, |_, meter, out| meter.write_counts(out));
            }
            Multipart::MeterConfigs(meter) => {
                let meters = self.datapath.meter_views(*meter)?;
                replies.multipart(number, meters, |_, meter, out| meter.write_config(out));
            }
            Multipart::MeterFeatures => {
                replies.multipart(number, [()], |_, (), out| reply::write_meter_features(2 * METERS, BANDS as u8, out));
            }
            Multipart::TableFeatures => replies.multipart(number, 0..TABLES, |_, table, out| {
                reply::write_table_features(table, TABLES, FLOWS, out);
            }),
            Multipart::PortDescriptions => {
                replies.multipart(number, self.datapath.ports(), |version, port, out| port.write(version, out));
            }
        }
        Ok(())
    }

    /// Ports that have egress queues.
    pub(crate) fn set_queued_ports(&mut self, ports: BTreeSet<u32>) {
        self.queued_ports = ports;
    }

    /// The queues of a port, or of all, by port and queue.
    fn queues(&self, port: u32) -> Vec<(u32, u32)> {
        let wanted = |one: &&u32| matches!(port, port::ANY | port::ALL) || **one == port;
        let ports = self.queued_ports.iter().filter(wanted).filter(|port| self.datapath.port(**port).is_some());
        ports.flat_map(|port| (0..QUEUES).map(|queue| (*port, queue))).collect()
    }

    /// Packets and bytes of a queue. The first one has what the port has `sent` and the others have not.
    fn queue_count(&self, port: u32, queue: u32, sent: (u64, u64)) -> (u64, u64) {
        let of = |queue: u32| self.datapath.queue_count(port, queue);
        if queue > 0 {
            return (of(queue).packets, of(queue).bytes);
        }
        (1..QUEUES).map(of).fold(sent, |(packets, bytes), other| {
            (packets.saturating_sub(other.packets), bytes.saturating_sub(other.bytes))
        })
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
        for removed in removed.iter().filter(|removed| removed.is_reported()) {
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
        if header.flow == LEARN_FLOW {
            return self.learn(header.in_port.into(), packet);
        }
        let unmatched = header.flow == 0;
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
        let context = (header.metadata, header.tunnel_id);
        let write = |out: &mut Replies| out.packet_in(in_port, reason, header.table, cookie, context, packet);
        self.tell(Event::PacketIn, reason as u8, write, |controller| !unmatched || controller.version == Version::V10);
    }

    /// Sends on a packet whose source the bridge did not know.
    fn learn(&mut self, in_port: u32, packet: &[u8]) {
        let Some(port) = self.datapath.learn(in_port, packet) else { return };
        let actions = vec![Action::Output { port, max_len: 0 }];
        // A port that there is: nothing is refused.
        let _ = self.packet_out(&PacketOut { in_port, actions, data: packet.to_vec() });
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
        removed.iter().for_each(|removed| self.journal.note(|| Change::Flow(removed.request())));
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
