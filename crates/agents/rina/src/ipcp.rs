//! An IPC process: a member of a DIF, or one that wants to be. A state machine: it is given PDUs, requests of applications
//! and the time, and gives back PDUs to send and events of flows.
//!
//! It composes what the modules beside it do: [`crate::neighbour`] for each link, the [`crate::rib`] that neighbours
//! share, [`crate::routing`] over it, and the flow allocator ([`crate::flows`]). [`crate::dialect`] says what they say to others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::admission::{admit, free_address, is_with_others};
use crate::cdap::{Message, op};
use crate::credential::{self, NONCE};
use crate::dialect::Dialect;
pub use crate::efcp::LONGEST_SDU;
use crate::efcp::{FRAGMENT, Qos};
use crate::flows::{FlowEvent, FlowId, Flows, Peer};
use crate::identity::Identity;
use crate::members::{Members, Own};
use crate::name::Name;
use crate::neighbour::{Effect, LinkCounts, LinkEnd, Local, Mac};
use crate::pdu::{Header, PASSED_UNIT, Syntax, TTL, kind};
use crate::plain::Exchange;
use crate::rib::{Key, Rib};
use crate::routing::{self, Path, RoutingPolicy};

mod services;

pub use services::ServiceError;

/// The egress queue of layer management.
pub(crate) const MANAGEMENT_PRIORITY: u8 = 7;
/// Bytes of a PDU that a link over Ethernet or UDP carries, and those of one that the program carries in PDUs of another DIF.
pub const LINK_MTU: usize = 1472;
pub(crate) const CARRIED_MTU: usize = 1432;
/// Bytes that encryption adds to a PDU.
const SEAL: usize = 16;
/// Bytes of an SDU in a PDU, at least.
const LEAST_PART: usize = 256;
/// Between two computations of paths, for each member that is reached, and how many times as long while changes go on.
const ROUTE_INTERVAL: Duration = Duration::from_micros(100);
const ROUTE_BACKOFF: u32 = 8;

/// What an IPC process is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name.
    pub name: Name,
    /// Its DIF.
    pub dif: Name,
    /// Its address; `None`: the DIF gives it one.
    pub address: Option<u16>,
    /// What its members say.
    pub dialect: Dialect,
    /// How its PDUs are written.
    pub syntax: Syntax,
    /// How paths are computed.
    pub routing: &'static dyn RoutingPolicy,
    /// Who it proves to be; `None` in DIFs without an authority.
    pub identity: Option<Arc<Identity>>,
    /// Data of flows is encrypted between their ends.
    pub encryption: bool,
    /// Bytes of a PDU of its own, at most.
    pub mtu: usize,
    /// Time between two keep-alives.
    pub keepalive: Duration,
    /// Silence after which a neighbour is down.
    pub dead_after: Duration,
    /// The QoS cubes.
    pub qos: Vec<Qos>,
    /// The cost of each link.
    pub links: Vec<u16>,
}

impl Settings {
    /// Bytes of an SDU in a PDU, at most. None if that is too little.
    pub(crate) fn part(&self) -> Option<usize> {
        let around = self.syntax.header_bytes() + if self.encryption { SEAL } else { 0 };
        // What a program carries for a DIF above is no longer, with the seal.
        let most = if self.encryption { FRAGMENT.min(CARRIED_MTU - around) } else { FRAGMENT };
        self.mtu.checked_sub(around).filter(|part| *part >= LEAST_PART).map(|part| part.min(most))
    }
}

/// A PDU to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// By this link.
    pub link: usize,
    /// To this station.
    pub to: Mac,
    /// In this egress queue.
    pub priority: u8,
    /// The bytes.
    pub pdu: Vec<u8>,
    /// Members that it may still pass, by links that say so.
    pub hops: u8,
    /// They are an ARP packet, which lacks the sender's own station.
    pub arp: bool,
}

/// What the tables of a router say for an IPC process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarding {
    /// Its own address; 0: none yet.
    pub address: u16,
    /// The stations at the other ends of the links whose neighbours are up.
    pub neighbours: BTreeMap<usize, Mac>,
    /// The links of shortest paths, by destination.
    pub destinations: BTreeMap<u16, BTreeSet<usize>>,
}

/// How the PDUs of a flow are addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    /// Of the IPC process at the other end.
    pub address: u16,
    pub qos_id: u16,
    pub local_cep: u16,
    pub remote_cep: u16,
}

/// Counts of an IPC process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// PDUs that made no sense, were of no flow, or came by a link whose neighbour is not up.
    pub discarded: u64,
    /// Management PDUs of members with a wrong tag, or sent again.
    pub unauthenticated: u64,
    /// PDUs that could not be sent because nobody knows the way.
    pub unreachable: u64,
    /// PDUs that went in circles.
    pub looped: u64,
    /// Changes of routes.
    pub route_changes: u64,
    /// Times that another member had the same address.
    pub address_conflicts: u64,
    /// Times that another member had the same name, and this one left the DIF.
    pub name_conflicts: u64,
}

/// The IPC process.
#[derive(Debug)]
pub struct Ipcp {
    settings: Arc<Settings>,
    address: u16,
    pub(crate) neighbours: Vec<Box<dyn LinkEnd>>,
    rib: Rib,
    members: Members,
    paths: BTreeMap<Name, Path>,
    /// Of which version of the RIB and the neighbours the forwarding is, and of which one of the lower flows the paths are.
    routed: Option<(u64, u64)>,
    topology: Option<u64>,
    /// Neither is computed again before, and how long before that was.
    route_after: Duration,
    route_interval: Duration,
    /// The neighbours that objects are flooded to, and all that are known as such.
    flooding: [BTreeSet<Name>; 2],
    neighbours_version: u64,
    forwarding: Forwarding,
    flows: Flows,
    /// In a dialect of others.
    exchange: Option<Box<dyn Exchange>>,
    applications: BTreeSet<Name>,
    transmits: Vec<Transmit>,
    active: BTreeSet<FlowId>,
    counts: Counts,
}

impl Ipcp {
    /// An IPC process that knows nobody. `epoch` is the time of day at time 0, in seconds since 1970.
    pub fn new(settings: Settings, epoch: u32) -> Ipcp {
        let mut ipcp = Ipcp {
            address: 0,
            neighbours: settings.links.iter().map(|_| settings.dialect.link_end()).collect(),
            rib: Rib::new(settings.name.clone(), epoch),
            exchange: None,
            members: Members::default(),
            paths: BTreeMap::new(),
            routed: None,
            topology: None,
            route_after: Duration::ZERO,
            route_interval: Duration::ZERO,
            flooding: Default::default(),
            neighbours_version: 0,
            forwarding: Forwarding::default(),
            flows: Flows::new(settings.name.clone(), credential::number()),
            applications: BTreeSet::new(),
            transmits: Vec::new(),
            active: BTreeSet::new(),
            counts: Counts::default(),
            settings: Arc::new(settings),
        };
        if let Some((exchange, plain)) = ipcp.settings.dialect.exchange() {
            ipcp.rib = ipcp.rib.in_dialect(plain);
            ipcp.exchange = Some(exchange);
            ipcp.flows.begin_alone();
        }
        ipcp.flows.set_part(ipcp.settings.part().unwrap_or(LEAST_PART));
        if ipcp.settings.encryption {
            ipcp.flows.encrypt();
        }
        if let Some(address) = ipcp.settings.address {
            ipcp.set_address(address, Duration::ZERO);
        }
        ipcp
    }

    /// What it is.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Its address; 0: it is no member yet.
    pub fn address(&self) -> u16 {
        self.address
    }

    /// What the tables are to say. Up to date after [`Ipcp::tick`].
    pub fn forwarding(&self) -> &Forwarding {
        &self.forwarding
    }

    /// The counts.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Counts of a link.
    pub fn link_counts(&self, link: usize) -> LinkCounts {
        self.neighbours.get(link).map(|end| end.counts()).unwrap_or_default()
    }

    /// The neighbour at a link that is up.
    pub fn neighbour(&self, link: usize) -> Option<&Name> {
        self.neighbours.get(link)?.up().map(|(name, _)| name)
    }

    pub(crate) fn rib(&self) -> &Rib {
        &self.rib
    }

    pub(crate) fn paths(&self) -> &BTreeMap<Name, Path> {
        &self.paths
    }

    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    /// Takes the PDUs that are to be sent.
    pub fn take_transmits(&mut self) -> Vec<Transmit> {
        std::mem::take(&mut self.transmits)
    }

    /// Whether there are events of flows.
    pub(crate) fn has_events(&self) -> bool {
        self.flows.has_events()
    }

    /// The next event of a flow.
    pub fn next_event(&mut self) -> Option<(FlowId, FlowEvent)> {
        self.flows.next_event()
    }

    fn set_address(&mut self, address: u16, now: Duration) {
        self.address = address;
        let own = Key::Member(self.settings.name.clone());
        self.rib.set(own, true, address.into(), now);
        self.neighbours_version += 1;
    }

    /// A link lost its carrier, or is to begin anew.
    pub fn link_down(&mut self, link: usize, now: Duration) {
        let mut effects = Vec::new();
        if let Some(neighbour) = self.neighbours.get_mut(link) {
            neighbour.end(&mut effects);
        }
        self.settle(link, effects, now);
    }

    /// Takes a PDU that came by a link from a station.
    pub fn receive(&mut self, link: usize, from: Mac, pdu: &[u8], now: Duration) {
        self.receive_with(link, from, pdu, TTL, now);
    }

    /// The same of a PDU with the number of members that it may still pass, this one included.
    pub(crate) fn receive_with(&mut self, link: usize, from: Mac, pdu: &[u8], hops: u8, now: Duration) {
        let settings = self.settings.clone();
        let Ok((header, payload)) = settings.syntax.parse(pdu) else {
            self.counts.discarded += 1;
            return;
        };
        if header.kind == kind::MANAGEMENT && header.dst == 0 {
            if link >= self.neighbours.len() {
                return;
            }
            let (before, rest) = self.neighbours.split_at_mut(link);
            let Some((neighbour, after)) = rest.split_first_mut() else { return };
            let elsewhere = |name: &Name| {
                let mut others = before.iter().chain(after.iter());
                others.any(|other| other.up().is_some_and(|(up, _)| up == name))
            };
            let local = local(&settings, self.address, &self.rib);
            let mut effects = Vec::new();
            let (rib, paths, own, address) = (&self.rib, &self.paths, &settings.name, self.address);
            let mut admit = |name: &Name, asked, incarnation: Option<[u8; NONCE]>| {
                let another = |it: [u8; NONCE]| rib.life(name).is_some_and(|life| life != credential::life(&it));
                let elsewhere = elsewhere(name) || is_with_others(rib, paths, own, name);
                if name == own || elsewhere && incarnation.is_some_and(another) {
                    return Err("another member has this name");
                }
                admit(rib, paths, own, address, name, asked)
            };
            neighbour.receive(&local, from, payload, now, &mut admit, &mut effects);
            self.settle(link, effects, now);
            return;
        }
        let up = self.neighbours.get(link).is_some_and(|neighbour| neighbour.up().is_some());
        if !up || self.address == 0 {
            self.counts.discarded += 1;
        } else if header.dst == self.address {
            self.receive_own(header, payload, now);
        } else {
            // The header has the number in units. Where a link has it exactly, it is below the next unit.
            let rounded = header.hops();
            self.relay(header, payload, if hops < rounded + PASSED_UNIT { hops } else { rounded });
        }
    }

    /// Sends a PDU on that is another member's. The program does that, but not from and to links that are flows which it does not carry. How many
    /// members it may still pass is in its header, too, for links without a place for it.
    fn relay(&mut self, header: Header, payload: &[u8], hops: u8) {
        let hops = hops.saturating_sub(1);
        let Some(header) = header.with_hops(hops) else {
            self.counts.looped += 1;
            return;
        };
        let Some((link, to)) = self.next_hop(&header) else {
            self.counts.discarded += 1;
            return;
        };
        let cube = self.settings.qos.iter().find(|cube| cube.id == header.qos_id);
        let priority = match header.kind {
            kind::MANAGEMENT => MANAGEMENT_PRIORITY,
            _ => cube.map_or(0, |cube| cube.priority),
        };
        let mut pdu = Vec::with_capacity(self.settings.syntax.header_bytes() + payload.len());
        self.settings.syntax.write(&header, payload, &mut pdu);
        self.transmits.push(Transmit { link, to, priority, pdu, hops, arp: false });
    }

    /// The link and the station by which a PDU goes on: of several the same for each flow.
    fn next_hop(&self, header: &Header) -> Option<(usize, Mac)> {
        let flow = u32::from(header.src_cep) ^ u32::from(header.dst_cep).rotate_left(3) ^ u32::from(header.dst);
        let links = self.forwarding.destinations.get(&header.dst)?;
        let link = links.iter().nth(flow.wrapping_mul(0x9e37_79b9) as usize % links.len())?;
        Some((*link, *self.forwarding.neighbours.get(link)?))
    }

    /// Takes an ARP packet that came by a link.
    pub fn receive_arp(&mut self, link: usize, packet: &[u8], now: Duration) {
        let settings = self.settings.clone();
        let mut effects = Vec::new();
        if let Some(neighbour) = self.neighbours.get_mut(link) {
            neighbour.receive_arp(&local(&settings, self.address, &self.rib), packet, now, &mut effects);
        }
        self.settle(link, effects, now);
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Duration) {
        let settings = self.settings.clone();
        for link in 0..self.neighbours.len() {
            let mut effects = Vec::new();
            self.neighbours[link].tick(&local(&settings, self.address, &self.rib), now, &mut effects);
            self.settle(link, effects, now);
        }
        if self.rib.is_rivalled() {
            self.leave(now);
        }
        if self.route(now) {
            self.resolve_conflict(now);
        }
        self.flood(now);
        let (paths, rib) = (&self.paths, &self.rib);
        let reachable = |name: &Name| *name == settings.name || paths.contains_key(name);
        self.flows.tick(now, |name| Peer { reachable: reachable(name), life: rib.life(name) });
        self.transfer(now);
        if let Some(exchange) = &mut self.exchange {
            exchange.retain(&self.flows);
        }
    }

    /// When [`Ipcp::tick`] has something to do, if nothing happens before.
    pub fn due(&self) -> Option<Duration> {
        let settings = &self.settings;
        let neighbours = self.neighbours.iter().map(|one| one.due(settings.keepalive, settings.dead_after));
        let route = self.is_unrouted().then_some(self.route_after);
        neighbours.chain(self.flows.due()).chain(self.rib.due()).chain(route).min()
    }

    /// Leaves the DIF: another member has this name.
    fn leave(&mut self, now: Duration) {
        tracing::error!(dif = %self.settings.dif, name = %self.settings.name, "another member has this name: leaving the DIF");
        self.counts.name_conflicts += 1;
        self.rib.forget_rival();
        for link in 0..self.neighbours.len() {
            self.link_down(link, now);
        }
    }

    fn flood(&mut self, now: Duration) {
        for (link, message) in self.rib.tick(now) {
            self.tell(link, &message);
        }
    }

    /// Sends a message to a neighbour that is up.
    fn tell(&mut self, link: usize, message: &Message) {
        if let Some((mac, sdu)) = self.neighbours[link].prepare(message) {
            self.transmit_management(link, mac, &sdu);
        }
    }

    fn transmit_management(&mut self, link: usize, to: Mac, sdu: &[u8]) {
        let header =
            Header { src: self.address, kind: kind::MANAGEMENT, qos_id: self.management_qos(), ..Header::default() };
        let mut pdu = Vec::new();
        self.settings.syntax.write(&header, sdu, &mut pdu);
        self.transmits.push(Transmit { link, to, priority: MANAGEMENT_PRIORITY, pdu, hops: TTL, arp: false });
    }

    /// Does what a neighbour's state machine wants.
    fn settle(&mut self, link: usize, effects: Vec<Effect>, now: Duration) {
        let settings = self.settings.clone();
        for one in effects {
            match one {
                Effect::Send(mac, sdu) => self.transmit_management(link, mac, &sdu),
                Effect::Arp(to, pdu) => {
                    let priority = MANAGEMENT_PRIORITY;
                    self.transmits.push(Transmit { link, to, priority, pdu, hops: TTL, arp: true });
                }
                Effect::Enrolled(address) => {
                    tracing::info!(dif = %settings.dif, name = %settings.name, address, "enrolled");
                    self.set_address(address, now);
                    self.neighbours.iter_mut().for_each(|end| end.hurry());
                }
                Effect::Up(name) => {
                    tracing::info!(dif = %settings.dif, neighbour = %name, link, "neighbour up");
                    self.neighbours_version += 1;
                    self.rib.begin(link);
                    self.announce(&name, now);
                }
                Effect::Down(name) => {
                    tracing::info!(dif = %settings.dif, neighbour = %name, link, "neighbour down");
                    self.neighbours_version += 1;
                    self.rib.end(link);
                    self.announce(&name, now);
                }
                Effect::Message(message) if self.exchange.is_some() => self.hear_in_dialect(link, &message, now),
                Effect::Message(message) => {
                    let taken = message.op_code == op::WRITE && self.rib.receive(link, &message, now).is_some();
                    self.counts.discarded += u64::from(!taken);
                }
            }
        }
    }

    /// Tells the DIF about the lower flow to a neighbour: the cheapest of the links to it that are up.
    fn announce(&mut self, name: &Name, now: Duration) {
        let links = self.neighbours.iter().zip(&self.settings.links);
        let up = links.filter(|(neighbour, _)| neighbour.up().is_some_and(|(up, _)| up == name));
        let cost = up.map(|(_, cost)| u32::from(*cost)).min();
        let key = Key::LowerFlow(self.settings.name.clone(), name.clone());
        self.rib.set(key, cost.is_some(), cost.unwrap_or(1), now);
    }

    /// Two members that enrolled at once can have the same address: the one with the greater name, in dialects of others with the smaller one,
    /// takes another, unless its configuration gives it this one.
    fn resolve_conflict(&mut self, now: Duration) {
        if self.address == 0 {
            return;
        }
        let own = &self.settings.name;
        let others = self.rib.members_at(self.address).filter(|name| *name != own && self.paths.contains_key(*name));
        let other_dialect = self.exchange.is_some();
        let Some(other) = (if other_dialect { others.max() } else { others.min() }) else { return };
        self.counts.address_conflicts += 1;
        match self.settings.address {
            Some(address) => {
                tracing::error!(dif = %self.settings.dif, other = %other, address, "another has this address")
            }
            None if (other < own) != other_dialect => match free_address(&self.rib, own) {
                Some(address) => {
                    tracing::warn!(dif = %self.settings.dif, other = %other, address, "new address: another has the old one");
                    self.set_address(address, now);
                }
                None => tracing::error!(dif = %self.settings.dif, "no address is free"),
            },
            None => {}
        }
    }

    /// Whether something that paths depend on has changed.
    fn is_unrouted(&self) -> bool {
        self.routed != Some((self.rib.version(), self.neighbours_version))
    }

    /// Computes paths, at once after the first change, then at intervals that grow with the DIF. False if nothing has changed.
    fn route(&mut self, now: Duration) -> bool {
        if !self.is_unrouted() || now < self.route_after {
            return false;
        }
        self.routed = Some((self.rib.version(), self.neighbours_version));
        if self.topology != Some(self.rib.topology()) {
            self.topology = Some(self.rib.topology());
            let routes = routing::routes(self.settings.routing, &self.rib, &self.settings.name);
            (self.paths, self.flooding) = (routes.paths, [routes.tree, routes.neighbours]);
        }
        self.choose_flooding();
        // The interval doubles while changes go on.
        let least = ROUTE_INTERVAL * self.paths.len() as u32;
        let calm = now >= self.route_after + self.route_interval;
        self.route_interval = if calm { least } else { (2 * self.route_interval).clamp(least, ROUTE_BACKOFF * least) };
        self.route_after = now + self.route_interval;
        if self.members.retain(&self.rib) {
            self.rib.reincarnate(now);
        }
        let mut links: BTreeMap<&Name, BTreeSet<usize>> = BTreeMap::new();
        let mut neighbours = BTreeMap::new();
        for (link, neighbour) in self.neighbours.iter().enumerate() {
            if let Some((name, mac)) = neighbour.up() {
                neighbours.insert(link, mac);
                if self.rib.cost(&self.settings.name, name) == Some(self.settings.links[link].into()) {
                    links.entry(name).or_default().insert(link);
                }
            }
        }
        let mut destinations: BTreeMap<u16, BTreeSet<usize>> = BTreeMap::new();
        // Of two members with an address the last one here keeps it, as in `resolve_conflict`.
        let mut paths: Vec<(&Name, &Path)> = self.paths.iter().collect();
        if self.exchange.is_none() {
            paths.reverse();
        }
        for (name, path) in paths {
            let Some(address) = self.rib.address(name).filter(|address| *address != self.address) else { continue };
            let by: BTreeSet<usize> = path.next.iter().filter_map(|next| links.get(next)).flatten().copied().collect();
            if !by.is_empty() {
                destinations.insert(address, by);
            }
        }
        let forwarding = Forwarding { address: self.address, neighbours, destinations };
        if forwarding != self.forwarding {
            self.counts.route_changes += 1;
            self.forwarding = forwarding;
        }
        true
    }

    /// Objects are flooded by the tree: by one link to each neighbour in it, and by those whose neighbours are not known as such yet.
    fn choose_flooding(&mut self) {
        let [tree, known] = &self.flooding;
        let mut by = BTreeSet::new();
        let mut first = BTreeSet::new();
        for (link, neighbour) in self.neighbours.iter().enumerate() {
            if let Some((name, _)) = neighbour.up()
                && (tree.contains(name) && first.insert(name) || !known.contains(name))
            {
                by.insert(link);
            }
        }
        self.rib.set_flooding(|link| by.contains(&link));
    }

    /// Takes new settings, which have the same names, address, syntax and links as before. With another credential all
    /// neighbours enrol again.
    pub fn reconfigure(&mut self, settings: Settings, now: Duration) {
        let other_credential = settings.dialect != self.settings.dialect;
        self.settings = Arc::new(settings);
        self.topology = None;
        if other_credential {
            self.rib.reincarnate(now);
        }
        for link in 0..self.neighbours.len() {
            if other_credential {
                self.link_down(link, now);
            } else if let Some(name) = self.neighbour(link).cloned() {
                self.announce(&name, now);
            }
        }
        self.neighbours_version += 1;
    }
}

fn own<'a>(settings: &'a Settings, rib: &'a Rib) -> Own<'a> {
    Own { dif: &settings.dif, name: &settings.name, credential: settings.dialect.credential(), rib }
}

fn local<'a>(settings: &'a Settings, address: u16, rib: &Rib) -> Local<'a> {
    Local {
        incarnation: rib.own_incarnation(),
        routing: settings.routing.name(),
        qos: &settings.qos,
        dif: &settings.dif,
        name: &settings.name,
        address,
        credential: settings.dialect.credential(),
        identity: settings.identity.as_deref(),
        encryption: settings.encryption,
        keepalive: settings.keepalive,
        dead_after: settings.dead_after,
    }
}

#[cfg(test)]
#[path = "ipcp_tests.rs"]
mod tests;
