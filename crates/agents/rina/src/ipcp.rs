//! An IPC process: a member of a DIF, or one that wants to be. A state machine: it is given PDUs, requests of applications
//! and the time, and gives back PDUs to send and events of flows.
//!
//! It composes what the modules beside it do: [`crate::neighbour`] for each link, the [`crate::rib`] that neighbours
//! share, [`crate::routing`] over it, and the flow allocator ([`crate::flows`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::admission::{admit, free_address, is_with_others};
use crate::cdap::{Message, object, op};
use crate::credential::{self, Credential, NONCE};
pub use crate::efcp::LONGEST_SDU;
use crate::efcp::Qos;
use crate::flows::{Flow, FlowEvent, FlowId, Flows, Outgoing, Peer};
use crate::members::{Members, Own};
use crate::name::Name;
use crate::neighbour::{LinkCounts, Local, Mac, Neighbour, Told};
use crate::pdu::{Header, Syntax, kind};
use crate::rib::{Key, MOST_NAMES, Rib};
use crate::routing::{self, Path};

/// The egress queue of layer management.
pub(crate) const MANAGEMENT_PRIORITY: u8 = 7;
/// Longest PDU of the DIF above that a flow carries.
const LONGEST_CARRIED: usize = 1432;

/// What an IPC process is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name.
    pub name: Name,
    /// Its DIF.
    pub dif: Name,
    /// Its address; `None`: the DIF gives it one.
    pub address: Option<u16>,
    /// What its members know.
    pub credential: Credential,
    /// How its PDUs are written.
    pub syntax: Syntax,
    /// Time between two keep-alives.
    pub keepalive: Duration,
    /// Silence after which a neighbour is down.
    pub dead_after: Duration,
    /// The QoS cubes.
    pub qos: Vec<Qos>,
    /// The cost of each link.
    pub links: Vec<u16>,
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
    pub(crate) neighbours: Vec<Neighbour>,
    rib: Rib,
    members: Members,
    paths: BTreeMap<Name, Path>,
    /// Of which version of the RIB and the neighbours the paths are.
    routed: Option<(u64, u64)>,
    neighbours_version: u64,
    forwarding: Forwarding,
    flows: Flows,
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
            neighbours: settings.links.iter().map(|_| Neighbour::default()).collect(),
            rib: Rib::new(settings.name.clone(), epoch),
            members: Members::default(),
            paths: BTreeMap::new(),
            routed: None,
            neighbours_version: 0,
            forwarding: Forwarding::default(),
            flows: Flows::new(settings.name.clone(), credential::number()),
            applications: BTreeSet::new(),
            transmits: Vec::new(),
            active: BTreeSet::new(),
            counts: Counts::default(),
            settings: Arc::new(settings),
        };
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
        self.neighbours.get(link).map(|neighbour| neighbour.counts).unwrap_or_default()
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
        let mut told = Vec::new();
        if let Some(neighbour) = self.neighbours.get_mut(link) {
            neighbour.end(&mut told);
        }
        self.settle(link, told, now);
    }

    /// Takes a PDU that came by a link from a station.
    pub fn receive(&mut self, link: usize, from: Mac, pdu: &[u8], now: Duration) {
        let settings = self.settings.clone();
        let Ok((header, payload)) = settings.syntax.parse(pdu) else {
            self.counts.discarded += 1;
            return;
        };
        if header.kind == kind::MANAGEMENT && header.dst == 0 {
            let others = self.neighbours.iter().enumerate().filter(|(other, _)| *other != link);
            let elsewhere: BTreeSet<Name> =
                others.filter_map(|(_, neighbour)| neighbour.up().map(|(name, _)| name.clone())).collect();
            let Some(neighbour) = self.neighbours.get_mut(link) else { return };
            let local = local(&settings, self.address, &self.rib);
            let mut told = Vec::new();
            let (rib, paths, own, address) = (&self.rib, &self.paths, &settings.name, self.address);
            let mut admit = |name: &Name, asked, incarnation: Option<[u8; NONCE]>| {
                let another = |it: [u8; NONCE]| rib.life(name).is_some_and(|life| life != credential::life(&it));
                let elsewhere = elsewhere.contains(name) || is_with_others(rib, paths, own, name);
                if name == own || elsewhere && incarnation.is_some_and(another) {
                    return Err("another member has this name");
                }
                admit(rib, paths, own, address, name, asked)
            };
            neighbour.receive(&local, from, payload, now, &mut admit, &mut told);
            self.settle(link, told, now);
            return;
        }
        let up = self.neighbours.get(link).is_some_and(|neighbour| neighbour.up().is_some());
        if !up || header.dst != self.address || self.address == 0 {
            self.counts.discarded += 1;
            return;
        }
        if header.kind != kind::MANAGEMENT {
            match self.flows.receive_pdu(&header, payload, now) {
                true => drop(self.active.insert(header.dst_cep)),
                false => self.counts.discarded += 1,
            }
            return;
        }
        match self.members.open(&own(&settings, &self.rib), payload) {
            Some((from, message)) if message.is_about(object::FLOW) => {
                self.hear_of_flow(&from, &message, now);
                self.send_flows(now);
            }
            Some(_) => self.counts.discarded += 1,
            None => self.counts.unauthenticated += 1,
        }
    }

    /// Takes a message of a member about a flow.
    fn hear_of_flow(&mut self, from: &Name, message: &Message, now: Duration) {
        let qos = |id| self.settings.qos.iter().find(|cube| cube.id == id).cloned();
        let listens = |name: &Name| self.applications.contains(name);
        let life = self.rib.life(from);
        let taken = life.and_then(|life| self.flows.receive((from, &life), message, qos, listens, now));
        self.counts.discarded += u64::from(taken.is_none());
    }

    /// Takes what a flow has for its other end, which is here, too.
    fn hand_over(&mut self, outgoing: Outgoing, now: Duration) {
        match outgoing {
            Outgoing::Management(own, message) => self.hear_of_flow(&own, &message, now),
            Outgoing::Data(_, header, payload, _) => {
                if self.flows.receive_pdu(&header, &payload, now) {
                    self.active.insert(header.dst_cep);
                }
            }
        }
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Duration) {
        let settings = self.settings.clone();
        for link in 0..self.neighbours.len() {
            let mut told = Vec::new();
            self.neighbours[link].tick(&local(&settings, self.address, &self.rib), now, &mut told);
            self.settle(link, told, now);
        }
        if self.rib.is_rivalled() {
            self.leave(now);
        }
        self.flood(now);
        if self.route() {
            self.resolve_conflict(now);
        }
        let (paths, rib) = (&self.paths, &self.rib);
        let reachable = |name: &Name| *name == settings.name || paths.contains_key(name);
        self.flows.tick(now, |name| Peer { reachable: reachable(name), life: rib.life(name) });
        self.transfer(now);
    }

    /// Sends what flows have to send.
    pub fn transfer(&mut self, now: Duration) {
        let mut active = std::mem::take(&mut self.active);
        active.extend(self.flows.to_poll(now));
        loop {
            for id in active {
                self.flows.poll(id, now);
            }
            self.send_flows(now);
            // Those whose other end is here have more to do.
            active = std::mem::take(&mut self.active);
            if active.is_empty() {
                return;
            }
        }
    }

    /// When [`Ipcp::tick`] has something to do, if nothing happens before.
    pub fn due(&self) -> Option<Duration> {
        let settings = &self.settings;
        let neighbours = self.neighbours.iter().map(|one| one.due(settings.keepalive, settings.dead_after));
        neighbours.chain(self.flows.due()).chain(self.rib.due()).min()
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
        if let Some((mac, sdu)) = self.neighbours[link].protect(message) {
            self.transmit_management(link, mac, &sdu);
        }
    }

    fn transmit_management(&mut self, link: usize, to: Mac, sdu: &[u8]) {
        let header = Header { src: self.address, kind: kind::MANAGEMENT, ..Header::default() };
        let mut pdu = Vec::new();
        self.settings.syntax.write(&header, sdu, &mut pdu);
        self.transmits.push(Transmit { link, to, priority: MANAGEMENT_PRIORITY, pdu });
    }

    /// Does what a neighbour's state machine wants.
    fn settle(&mut self, link: usize, told: Vec<Told>, now: Duration) {
        let settings = self.settings.clone();
        for one in told {
            match one {
                Told::Send(mac, sdu) => self.transmit_management(link, mac, &sdu),
                Told::Enrolled(address) => {
                    tracing::info!(dif = %settings.dif, name = %settings.name, address, "enrolled");
                    self.set_address(address, now);
                    self.neighbours.iter_mut().for_each(Neighbour::hurry);
                }
                Told::Up(name) => {
                    tracing::info!(dif = %settings.dif, neighbour = %name, link, "neighbour up");
                    self.neighbours_version += 1;
                    self.rib.begin(link);
                    self.announce(&name, now);
                }
                Told::Down(name) => {
                    tracing::info!(dif = %settings.dif, neighbour = %name, link, "neighbour down");
                    self.neighbours_version += 1;
                    self.rib.end(link);
                    self.announce(&name, now);
                }
                Told::Message(message) => match message.op_code {
                    op::WRITE => match self.rib.receive(link, &message, now) {
                        Some(answer) => self.tell(link, &answer),
                        None => self.counts.discarded += 1,
                    },
                    op::WRITE_R => self.rib.acknowledged(link, &message),
                    _ => self.counts.discarded += 1,
                },
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

    /// Two members that enrolled at once can have the same address: the one with the greater name takes another, unless
    /// its configuration gives it this one.
    fn resolve_conflict(&mut self, now: Duration) {
        if self.address == 0 {
            return;
        }
        let own = &self.settings.name;
        let others = self.rib.members_at(self.address).filter(|name| *name != own && self.paths.contains_key(*name));
        let Some(least) = others.min() else { return };
        self.counts.address_conflicts += 1;
        match self.settings.address {
            Some(address) => {
                tracing::error!(dif = %self.settings.dif, other = %least, address, "another has this address")
            }
            None if least < own => match free_address(&self.rib, own) {
                Some(address) => {
                    tracing::warn!(dif = %self.settings.dif, other = %least, address, "new address: another has the old one");
                    self.set_address(address, now);
                }
                None => tracing::error!(dif = %self.settings.dif, "no address is free"),
            },
            None => {}
        }
    }

    /// Computes paths. False if nothing has changed.
    fn route(&mut self) -> bool {
        let version = (self.rib.version(), self.neighbours_version);
        if self.routed == Some(version) {
            return false;
        }
        self.routed = Some(version);
        self.paths = routing::paths(&self.rib, &self.settings.name);
        self.members.retain(&self.rib);
        let mut links: BTreeMap<&Name, BTreeSet<usize>> = BTreeMap::new();
        let mut neighbours = BTreeMap::new();
        for (link, neighbour) in self.neighbours.iter().enumerate() {
            if let Some((name, mac)) = neighbour.up() {
                neighbours.insert(link, mac);
                let cheapest = self.rib.iter().any(|(key, object)| {
                    *key == Key::LowerFlow(self.settings.name.clone(), name.clone())
                        && object.value == u32::from(self.settings.links[link])
                });
                if cheapest {
                    links.entry(name).or_default().insert(link);
                }
            }
        }
        let mut destinations: BTreeMap<u16, BTreeSet<usize>> = BTreeMap::new();
        // Of two members with an address the one with the smaller name keeps it.
        for (name, path) in self.paths.iter().rev() {
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

    /// An application is there.
    ///
    /// # Errors
    /// Too many are, or the directory is full.
    pub fn register(&mut self, name: Name, now: Duration) -> Result<(), String> {
        if !self.rib.set(Key::Application(name.clone(), self.settings.name.clone()), true, 0, now) {
            return Err(format!("the directory of DIF {} has no room: {MOST_NAMES} names at most", self.settings.dif));
        }
        self.applications.insert(name);
        Ok(())
    }

    /// It is not there any more.
    pub fn unregister(&mut self, name: &Name, now: Duration) {
        self.rib.set(Key::Application(name.clone(), self.settings.name.clone()), false, 0, now);
        self.applications.remove(name);
    }

    /// Takes new settings, which have the same names, address, syntax and links as before. With another credential all
    /// neighbours enrol again.
    pub fn reconfigure(&mut self, settings: Settings, now: Duration) {
        let other_credential = settings.credential != self.settings.credential;
        self.settings = Arc::new(settings);
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

    /// Asks for a flow from an application here to another, of a QoS cube. Of several with the name the nearest is asked.
    ///
    /// # Errors
    /// The application, the cube or an address is not known, or there are too many flows.
    pub fn request_flow(&mut self, from: Name, to: Name, cube: &str, now: Duration) -> Result<FlowId, String> {
        if self.address == 0 {
            return Err("this IPC process is not enrolled in the DIF yet".into());
        }
        let names = || self.settings.qos.iter().map(|cube| cube.name.as_str()).collect::<Vec<_>>().join(", ");
        let Some(qos) = self.settings.qos.iter().find(|qos| qos.name == cube) else {
            return Err(format!("the DIF has no QoS cube {cube}; it has {}", names()));
        };
        let cost = |host: &Name| match self.paths.get(host) {
            _ if *host == self.settings.name => Some(0),
            path => path.map(|path| path.cost),
        };
        let there = self.rib.hosts_of(&to).filter_map(|host| Some((cost(host)?, host))).min();
        let Some(peer) = there.map(|(_, host)| host.clone()) else {
            return Err(format!("the directory of DIF {} has no application {to}", self.settings.dif));
        };
        let life = self.rib.life(&peer).ok_or_else(|| format!("{peer} is no member any more"))?;
        let id = self.flows.request([from, to, peer], life, qos, now).ok_or("too many flows")?;
        self.send_flows(now);
        Ok(id)
    }

    /// Accepts a flow that was requested, or refuses it.
    pub fn answer(&mut self, id: FlowId, accept: bool, now: Duration) {
        self.flows.answer(id, accept, now);
        self.send_flows(now);
    }

    /// How the PDUs of a flow that is open are addressed.
    pub(crate) fn connection(&self, id: FlowId) -> Option<Connection> {
        let flow = self.flows.get(id).filter(|flow| flow.is_open())?;
        let address = self.rib.address(&flow.peer)?;
        Some(Connection { address, qos_id: flow.qos.id, local_cep: id, remote_cep: flow.remote_cep() })
    }

    /// Whether a flow was requested that no application has accepted or refused.
    pub fn is_unanswered(&self, id: FlowId) -> bool {
        self.flows.get(id).is_some_and(Flow::is_unanswered)
    }

    /// The name of a flow's QoS cube.
    pub fn flow_qos(&self, id: FlowId) -> Option<String> {
        self.flows.get(id).map(|flow| flow.qos.name.clone())
    }

    /// The application ends a flow. What it has sent is delivered; [`FlowEvent::Ended`] says whether all was.
    pub fn close_flow(&mut self, id: FlowId, now: Duration) {
        self.flows.end(id, false, now);
        self.send_flows(now);
    }

    /// The same for an application that reads nothing more.
    pub fn end_flow(&mut self, id: FlowId, now: Duration) {
        self.flows.end(id, true, now);
        self.send_flows(now);
    }

    /// Ends all flows: this IPC process stops.
    pub fn stop(&mut self, now: Duration) {
        self.flows.give_up(now);
        self.send_flows(now);
    }

    /// Whether a flow takes one more SDU.
    pub fn has_room(&self, id: FlowId) -> bool {
        self.flows.get(id).is_some_and(|flow| flow.is_open() && flow.sender.has_room())
    }

    /// Sends an SDU of at most [`LONGEST_SDU`] bytes.
    pub fn write(&mut self, id: FlowId, sdu: &[u8]) {
        if sdu.len() <= LONGEST_SDU {
            self.flows.write(id, sdu);
            self.active.insert(id);
        }
    }

    /// A flow is a link of the DIF above.
    pub(crate) fn carry(&mut self, id: FlowId) {
        self.flows.carry(id);
    }

    /// Sends a PDU of the DIF above; one of layer management goes before others that wait (`first`).
    pub(crate) fn write_carried(&mut self, id: FlowId, pdu: &[u8], first: bool) {
        if pdu.len() <= LONGEST_CARRIED {
            self.flows.write_carried(id, pdu, first);
            self.active.insert(id);
        }
    }

    /// The next SDU that has come for an application.
    pub fn read(&mut self, id: FlowId) -> Option<Vec<u8>> {
        let sdu = self.flows.read(id)?;
        // Room that the other end may be told about.
        self.active.insert(id);
        Some(sdu)
    }

    /// Gives back the SDU that [`Ipcp::read`] returned last.
    pub fn put_back(&mut self, id: FlowId, sdu: Vec<u8>) {
        self.flows.put_back(id, sdu);
    }

    /// The management SDU of a message to another member. None if the RIB does not have it.
    pub(crate) fn protect_for(&mut self, member: &Name, message: Message) -> Option<Vec<u8>> {
        let settings = self.settings.clone();
        self.members.protect(&own(&settings, &self.rib), member, message)
    }

    /// Sends what flows have for other members, and hands over what they have for each other.
    fn send_flows(&mut self, now: Duration) {
        let mut all = VecDeque::from(self.flows.take_outgoing());
        while let Some(outgoing) = all.pop_front() {
            if *outgoing.to() == self.settings.name {
                self.hand_over(outgoing, now);
                all.extend(self.flows.take_outgoing());
                continue;
            }
            let (peer, header, payload, priority) = match outgoing {
                Outgoing::Management(peer, message) => {
                    let Some(sdu) = self.protect_for(&peer, message) else {
                        self.counts.unreachable += 1;
                        continue;
                    };
                    let header = Header { kind: kind::MANAGEMENT, ..Header::default() };
                    (peer, header, sdu, MANAGEMENT_PRIORITY)
                }
                Outgoing::Data(peer, header, sdu, priority) => (peer, header, sdu, priority),
            };
            let dst = self.rib.address(&peer).unwrap_or_default();
            let header = Header { dst, src: self.address, ..header };
            let flow = u32::from(header.src_cep) ^ u32::from(header.dst_cep).rotate_left(3) ^ u32::from(dst);
            let links = self.forwarding.destinations.get(&dst);
            let by = links.and_then(|links| links.iter().nth(flow.wrapping_mul(0x9e37_79b9) as usize % links.len()));
            let Some((link, mac)) = by.and_then(|link| Some((*link, *self.forwarding.neighbours.get(link)?))) else {
                self.counts.unreachable += 1;
                continue;
            };
            let mut pdu = Vec::with_capacity(payload.len() + 20);
            self.settings.syntax.write(&header, &payload, &mut pdu);
            self.transmits.push(Transmit { link, to: mac, priority, pdu });
        }
    }
}

fn own<'a>(settings: &'a Settings, rib: &'a Rib) -> Own<'a> {
    Own { dif: &settings.dif, name: &settings.name, credential: &settings.credential, rib }
}

fn local<'a>(settings: &'a Settings, address: u16, rib: &Rib) -> Local<'a> {
    Local {
        incarnation: rib.own_incarnation(),
        dif: &settings.dif,
        name: &settings.name,
        address,
        credential: &settings.credential,
        keepalive: settings.keepalive,
        dead_after: settings.dead_after,
    }
}

#[cfg(test)]
#[path = "ipcp_tests.rs"]
mod tests;
