//! What an IPC process does for applications: their names, and flows between them.

use std::collections::VecDeque;
use std::time::Duration;

use super::{CARRIED_MTU, Connection, Ipcp, LONGEST_SDU, MANAGEMENT_PRIORITY, Transmit, own};
use crate::cdap::{Message, object};
use crate::dialect::Dialect;
use crate::efcp::{FRAGMENT, Qos};
use crate::flows::{Flow, FlowId, Outgoing};
use crate::name::Name;
use crate::pdu::{Header, TTL, kind};
use crate::rib::{Key, MOST_NAMES};

/// Why an IPC process does not do what an application asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The DIF's dialect cannot write the name.
    #[error("{name}: names end with another character than `|` in DIF {dif}")]
    Name {
        /// The name.
        name: Name,
        /// The DIF.
        dif: Name,
    },
    /// Too many applications are there.
    #[error("the directory of DIF {0} has no room: {MOST_NAMES} names at most")]
    DirectoryFull(Name),
    /// It has no address yet.
    #[error("this IPC process is not enrolled in the DIF yet")]
    NotEnrolled,
    /// The DIF has no such QoS cube.
    #[error("the DIF has no QoS cube {cube}; it has {others}")]
    UnknownCube {
        /// The cube.
        cube: String,
        /// Those that there are.
        others: String,
    },
    /// The other application is nowhere.
    #[error("the directory of DIF {dif} has no application {name}")]
    UnknownApplication {
        /// Its name.
        name: Name,
        /// The DIF.
        dif: Name,
    },
    /// The IPC process that has the other application has left.
    #[error("{0} is no member any more")]
    Gone(Name),
    /// There are too many flows.
    #[error("too many flows")]
    TooManyFlows,
}

impl Ipcp {
    /// An application is there.
    ///
    /// # Errors
    /// Too many are, the directory is full, or the dialect cannot write the name.
    pub fn register(&mut self, name: Name, now: Duration) -> Result<(), ServiceError> {
        self.check_name(&name)?;
        if !self.rib.set(Key::Application(name.clone(), self.settings.name.clone()), true, 0, now) {
            return Err(ServiceError::DirectoryFull(self.settings.dif.clone()));
        }
        self.applications.insert(name);
        Ok(())
    }

    /// The dialects of others have names in parts, of which empty ones at the end are lost.
    fn check_name(&self, name: &Name) -> Result<(), ServiceError> {
        if self.exchange.is_some() && name.as_str().ends_with('|') {
            return Err(ServiceError::Name { name: name.clone(), dif: self.settings.dif.clone() });
        }
        Ok(())
    }

    /// It is not there any more.
    pub fn unregister(&mut self, name: &Name, now: Duration) {
        self.rib.set(Key::Application(name.clone(), self.settings.name.clone()), false, 0, now);
        self.applications.remove(name);
    }

    /// Asks for a flow from an application here to another, of a QoS cube. Of several with the name the nearest is asked.
    ///
    /// # Errors
    /// The application, the cube or an address is not known, the dialect cannot write a name, or there are too many flows.
    pub fn request_flow(&mut self, from: Name, to: Name, cube: &str, now: Duration) -> Result<FlowId, ServiceError> {
        if self.address == 0 {
            return Err(ServiceError::NotEnrolled);
        }
        self.check_name(&from)?;
        let names = || self.settings.qos.iter().map(|cube| cube.name.as_str()).collect::<Vec<_>>().join(", ");
        let Some(qos) = self.settings.qos.iter().find(|qos| qos.name == cube) else {
            return Err(ServiceError::UnknownCube { cube: cube.into(), others: names() });
        };
        let cost = |host: &Name| match self.paths.get(host) {
            _ if *host == self.settings.name => Some(0),
            path => path.map(|path| path.cost),
        };
        let there = self.rib.hosts_of(&to).filter_map(|host| Some((cost(host)?, host))).min();
        let Some(peer) = there.map(|(_, host)| host.clone()) else {
            return Err(ServiceError::UnknownApplication { name: to, dif: self.settings.dif.clone() });
        };
        let life = self.rib.life(&peer).ok_or_else(|| ServiceError::Gone(peer.clone()))?;
        let id = self.flows.request([from, to, peer], life, qos, now).ok_or(ServiceError::TooManyFlows)?;
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

    /// A flow's QoS cube.
    pub fn flow_qos(&self, id: FlowId) -> Option<&Qos> {
        self.flows.get(id).map(|flow| &flow.qos)
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

    /// The application reads nothing more of a flow, but what it has sent may not have come here yet.
    pub(crate) fn abandon(&mut self, id: FlowId) {
        self.flows.abandon(id);
        // What has been read is credit for the other end. A flow that waits only for its reader ends.
        self.active.insert(id);
    }

    /// Ends all flows: this IPC process stops.
    pub fn stop(&mut self, now: Duration) {
        self.flows.give_up(now);
        self.send_flows(now);
        for link in 0..self.neighbours.len() {
            if let Some((mac, sdu)) = self.neighbours[link].release() {
                self.transmit_management(link, mac, &sdu);
            }
        }
    }

    /// Whether a flow takes one more SDU.
    pub fn has_room(&self, id: FlowId) -> bool {
        self.flows.get(id).is_some_and(|flow| flow.is_open() && flow.sender.has_room())
    }

    /// The same of a PDU of the DIF above; one of layer management goes before others (`first`).
    pub(crate) fn has_room_carried(&self, id: FlowId, first: bool) -> bool {
        let room = |flow: &Flow| if first { flow.sender.has_room_first() } else { flow.sender.has_room() };
        self.flows.get(id).is_some_and(|flow| flow.is_open() && room(flow))
    }

    /// The longest SDU of a flow, in bytes.
    pub fn longest_sdu(&self) -> usize {
        // Others have no fragmentation.
        if self.exchange.is_some() { FRAGMENT } else { LONGEST_SDU }
    }

    /// Sends an SDU of at most [`Ipcp::longest_sdu`] bytes.
    pub fn write(&mut self, id: FlowId, sdu: &[u8]) {
        if sdu.len() <= self.longest_sdu() {
            self.flows.write(id, sdu);
            self.active.insert(id);
        }
    }

    /// Whether the directory has an application.
    pub(crate) fn knows(&self, application: &Name) -> bool {
        self.rib.hosts_of(application).next().is_some()
    }

    /// A flow is a link of the DIF above, whose PDUs the program carries, too.
    pub(crate) fn carry(&mut self, id: FlowId) {
        self.flows.carry(id);
    }

    /// Sends a PDU of the DIF above; one of layer management goes before others that wait (`first`). With `whole` it has to have room in
    /// one PDU, as the program sends it.
    pub(crate) fn write_carried(&mut self, id: FlowId, pdu: &[u8], first: bool, whole: bool) {
        if pdu.len() <= if whole { CARRIED_MTU } else { LONGEST_SDU } {
            self.flows.write_carried(id, pdu, first, whole);
            self.active.insert(id);
        }
    }

    /// The next SDU that has come for an application.
    pub fn read(&mut self, id: FlowId) -> Option<Vec<u8>> {
        let sdu = self.flows.read(id)?;
        // What has been read is credit for the other end.
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
    pub(super) fn send_flows(&mut self, now: Duration) {
        let mut all = VecDeque::from(self.flows.take_outgoing());
        while let Some(outgoing) = all.pop_front() {
            if *outgoing.to() == self.settings.name {
                self.hand_over(outgoing, now);
                all.extend(self.flows.take_outgoing());
                continue;
            }
            let (peer, header, payload, priority) = match outgoing {
                Outgoing::Management(peer, message) => {
                    let sdu = match &mut self.exchange {
                        None => self.protect_for(&peer, message),
                        Some(exchange) => {
                            let addresses = [self.address, self.rib.address(&peer).unwrap_or_default()];
                            let outcome = exchange.send(&peer, addresses, &message, &self.settings.qos);
                            if let Some(answer) = &outcome.answer {
                                self.hear_of_flow(&peer, answer, now);
                                all.extend(self.flows.take_outgoing());
                            }
                            let Some(sdu) = outcome.sdu else { continue };
                            Some(sdu)
                        }
                    };
                    let Some(sdu) = sdu else {
                        self.counts.unreachable += 1;
                        continue;
                    };
                    let header = Header { kind: kind::MANAGEMENT, ..Header::default() };
                    (peer, header, sdu, MANAGEMENT_PRIORITY)
                }
                Outgoing::Data(peer, header, sdu, priority) => {
                    let (header, sdu) = match &mut self.exchange {
                        None => (header, sdu),
                        Some(exchange) => exchange.write(header, sdu),
                    };
                    (peer, header, sdu, priority)
                }
            };
            let dst = self.rib.address(&peer).unwrap_or_default();
            let mut header = Header { dst, src: self.address, ..header };
            let Some((link, mac)) = self.next_hop(&header) else {
                self.counts.unreachable += 1;
                continue;
            };
            if header.kind == kind::MANAGEMENT && self.exchange.as_ref().is_some_and(|it| it.passes_on()) {
                (header.dst, header.qos_id) = (0, self.management_qos());
            }
            let mut pdu = Vec::with_capacity(payload.len() + self.settings.syntax.header_bytes());
            self.settings.syntax.write(&header, &payload, &mut pdu);
            self.transmits.push(Transmit { link, to: mac, priority, pdu, hops: TTL, arp: false });
        }
    }

    /// Takes a PDU to this member's address.
    pub(super) fn receive_own(&mut self, header: Header, payload: &[u8], now: Duration) {
        if header.kind != kind::MANAGEMENT {
            let taken = match &mut self.exchange {
                None => self.flows.receive_pdu(&header, payload, now),
                Some(exchange) => exchange.read(header, payload, now).is_some_and(|(header, payload, begins)| {
                    if begins {
                        self.flows.begin_anew(header.dst_cep, header.sequence);
                    }
                    self.flows.receive_pdu(&header, &payload, now)
                }),
            };
            match taken {
                true => drop(self.active.insert(header.dst_cep)),
                false => self.counts.discarded += 1,
            }
            return;
        }
        if let Some(exchange) = &self.exchange {
            return match exchange.unwrap(payload) {
                Some((source, message)) => self.hear_of_flow_in_dialect(source, &message, now),
                None => self.counts.discarded += 1,
            };
        }
        let settings = self.settings.clone();
        match self.members.open(&own(&settings, &self.rib), payload) {
            Some((from, message)) if message.is_about(object::FLOW) => {
                self.hear_of_flow(&from, &message, now);
                self.send_flows(now);
            }
            Some(_) => self.counts.discarded += 1,
            None => self.counts.unauthenticated += 1,
        }
    }

    /// Takes a message about a flow in a dialect of others, which came from an address.
    fn hear_of_flow_in_dialect(&mut self, source: u16, message: &Message, now: Duration) {
        let read = self.exchange.as_mut().and_then(|exchange| {
            // As routes have it: who can be reached, and of several the one with the greatest name.
            let members = self.rib.members_at(source);
            let from = members.max_by_key(|name| (self.paths.contains_key(*name), *name))?.clone();
            let addresses = [source, self.address];
            let message =
                exchange.receive((&from, addresses), message, &self.settings.qos, &|id| self.flows.get(id))?;
            Some((from, message))
        });
        match read {
            Some((from, message)) => self.hear_of_flow(&from, &message, now),
            None => self.counts.discarded += 1,
        }
        let back = Header { dst: source, ..Header::default() };
        if let Some(sdu) = self.exchange.as_mut().and_then(|it| it.take_refusal())
            && let Some((link, mac)) = self.next_hop(&back)
        {
            self.transmit_management(link, mac, &sdu);
        }
        self.send_flows(now);
    }

    /// Takes a message of a neighbour in a dialect of others: it is about objects, or for a member farther away, perhaps.
    pub(super) fn hear_in_dialect(&mut self, link: usize, message: &Message, now: Duration) {
        let Some(exchange) = &mut self.exchange else { return };
        if let Some(([source, dst], inner)) = exchange.passed_on(message) {
            if dst == self.address {
                return self.hear_of_flow_in_dialect(source, &inner, now);
            }
            return match self.next_hop(&Header { dst, ..Header::default() }) {
                // Not back where it came from.
                Some((next, _)) if next != link => self.tell(next, message),
                _ => self.counts.unreachable += 1,
            };
        }
        let Some(announced) = exchange.announced(message, &self.rib) else {
            self.counts.discarded += 1;
            return;
        };
        announced.into_iter().for_each(|one| self.rib.learn(link, one, now));
        exchange.completed(&self.rib).into_iter().for_each(|one| self.rib.learn(link, one, now));
    }

    /// The QoS id of layer management: IRATI's is never 0.
    pub(super) fn management_qos(&self) -> u16 {
        u16::from(self.settings.dialect == Dialect::Irati)
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
}
