//! The flow allocator: flows between applications, by requests to the IPC process that the directory names.
//!
//! ```text
//! requester                                            responder
//!   M_CREATE, again until it is answered              →  the application accepts or refuses
//!                                                     ←  M_CREATE_R
//!   SDUs and acknowledgements, both ways              ↔
//!   M_READ when nothing has been heard for a while    →
//!                                                     ←  M_READ_R: the flow is there, or not
//! either end, when all that its application has sent is acknowledged:
//!   M_DELETE (SDUs sent, delivered), until answered   →  delivers what it has
//!                                                     ←  M_DELETE_R (SDUs sent, delivered)
//! ```
//!
//! - A flow ends without an error ([`End::Closed`]) if the counts say that nothing is missing; otherwise the application is told why.
//! - A flow ends when its peer is silent or unreachable for some time, and at once when the peer has another life
//!   ([`credential::Life`]): it has restarted and knows nothing of the flow. An end that gives up says so in M_DELETE, with a
//!   result that is not 0; whoever misses it learns it by M_READ.
//! - Connection endpoints rest for [`DELTA_T`] when their flow has ended ([`past`]), and with them sequence numbers.
//! - Flows, and requests that no application has answered, are limited in number. What exceeds a limit is refused.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::agreement::KeyPair;
use crate::cdap::{Message, op};
use crate::credential::Life;
use crate::efcp::sender::PATIENCE;
use crate::efcp::{Ack, FRAGMENT, Qos};
use crate::name::Name;
use crate::pdu::{Header, kind};

mod end;
mod flow;
mod messages;
#[cfg(test)]
mod model;
mod past;
mod secrecy;

pub use end::{End, FlowEvent};
pub(crate) use flow::Flow;
use flow::{Hiding, State};
pub(crate) use messages::Outgoing;
use messages::{Notice, about, result};
use past::Past;

/// Flows at an IPC process.
const MOST: usize = 1024;
/// Requests of others that no application has answered.
const MOST_UNANSWERED: usize = 64;
/// From one CEP id to the next: odd, so that all come.
const STRIDE: u16 = 40_503;
/// Time between two requests or releases, and their number.
const AGAIN: Duration = Duration::from_millis(300);
const TRIES: u32 = 20;
const RELEASES: u32 = 50;
/// How long an application may take to answer a request.
const ANSWER: Duration = Duration::from_secs(5);
/// Time without a sign of the other end after which it is asked for one, time between two such questions, and time after which it
/// counts as gone.
const IDLE: Duration = Duration::from_secs(3);
const IDLE_AGAIN: Duration = Duration::from_secs(1);
const SILENT: Duration = Duration::from_secs(20);
/// How long the other end may be unreachable.
const UNREACHABLE: Duration = Duration::from_secs(15);
/// How long SDUs without retransmission may come behind M_DELETE, which goes first in queues.
const STRAGGLERS: Duration = Duration::from_millis(200);
/// Maximum PDU lifetime (MPL): how long a PDU can be under way.
const LIFETIME: Duration = Duration::from_secs(3);
/// Delta-t (R. Watson, *Timer-based mechanisms in reliable transport protocol connection management*, 1981): MPL + R + A. The
/// receiver acknowledges at once (A is 0).
const DELTA_T: Duration = LIFETIME.saturating_add(PATIENCE);

/// A flow, by its connection endpoint at this IPC process.
pub type FlowId = u16;

/// What is known of another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub reachable: bool,
    pub life: Option<Life>,
}

/// The flows of an IPC process.
#[derive(Debug)]
pub(crate) struct Flows {
    own: Name,
    flows: BTreeMap<FlowId, Flow>,
    past: Past,
    last: FlowId,
    out: Vec<Outgoing>,
    /// Whether the first PDU of a flow is sent alone.
    alone: bool,
    /// Whether flows are encrypted.
    encrypts: bool,
    /// Bytes of an SDU in a PDU, at most.
    part: usize,
    events: VecDeque<(FlowId, FlowEvent)>,
    /// Requests refused: for want of room, or because no such application is here.
    pub refused: u64,
    /// Flows that there were.
    pub allocated: u64,
    /// Of these, those that ended with an error.
    pub failed: u64,
}

impl Flows {
    /// None yet. The first CEP id is that behind `last`.
    pub(crate) fn new(own: Name, last: FlowId) -> Flows {
        Flows {
            own,
            flows: BTreeMap::new(),
            past: Past::default(),
            last,
            out: Vec::new(),
            alone: false,
            encrypts: false,
            part: FRAGMENT,
            events: VecDeque::new(),
            refused: 0,
            allocated: 0,
            failed: 0,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        self.flows.iter().map(|(id, flow)| (*id, flow))
    }

    pub(crate) fn get(&self, id: FlowId) -> Option<&Flow> {
        self.flows.get(&id)
    }

    /// Takes what is to be sent.
    pub(crate) fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.out)
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The next event.
    pub(crate) fn next_event(&mut self) -> Option<(FlowId, FlowEvent)> {
        self.events.pop_front()
    }

    /// The first PDU of a flow is sent alone, until it is acknowledged.
    pub(crate) fn begin_alone(&mut self) {
        self.alone = true;
    }

    /// Flows are encrypted from now on.
    pub(crate) fn encrypt(&mut self) {
        self.encrypts = true;
    }

    /// Sets how many bytes of an SDU have room in a PDU.
    pub(crate) fn set_part(&mut self, part: usize) {
        self.part = part;
    }

    fn add(&mut self, mut flow: Flow, now: Duration) -> Option<FlowId> {
        flow.sender.set_part(self.part);
        if self.alone {
            flow.sender.begin_alone();
        }
        if self.encrypts && matches!(flow.secrecy, Hiding::None) {
            flow.secrecy = Hiding::Agreed(Box::new(KeyPair::new()?));
        }
        self.past.forget(now);
        if self.flows.len() >= MOST || self.past.is_full() {
            return None;
        }
        loop {
            // Scattered, so that routers spread flows over equal paths.
            self.last = self.last.wrapping_add(STRIDE);
            if self.last != 0 && !self.flows.contains_key(&self.last) && !self.past.contains(self.last) {
                break;
            }
        }
        self.flows.insert(self.last, flow);
        Some(self.last)
    }

    /// Asks a member for a flow to an application there. `names`: the application here, the one there, and the member. None: too many
    /// flows.
    pub(crate) fn request(&mut self, names: [Name; 3], life: Life, qos: &Qos, now: Duration) -> Option<FlowId> {
        let id = self.add(Flow::new(State::Requesting(1), names, life, 0, qos, now), now)?;
        self.tell(id, op::CREATE, result::DONE);
        Some(id)
    }

    /// Answers a request.
    pub(crate) fn answer(&mut self, id: FlowId, accept: bool, now: Duration) {
        let Some(flow) = self.flows.get_mut(&id).filter(|flow| flow.is_unanswered()) else { return };
        if accept {
            (flow.state, flow.since) = (State::Open, now);
            flow.hear(now);
            self.allocated += 1;
            self.tell(id, op::CREATE_R, result::DONE);
        } else {
            self.tell(id, op::CREATE_R, result::REFUSED);
            self.finish(id, None, now);
        }
    }

    /// The application ends a flow: what it sent is delivered first. `gone`: it reads nothing more, and is told nothing.
    pub(crate) fn end(&mut self, id: FlowId, gone: bool, now: Duration) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        flow.abandoned |= gone;
        if flow.abandoned {
            flow.receiver.discard_ready();
        }
        match flow.state {
            State::Unanswered => self.answer(id, false, now),
            State::Requesting(_) => {
                self.tell(id, op::DELETE, result::GAVE_UP);
                self.finish(id, (!gone).then_some(End::Closed), now);
            }
            State::Open => {
                flow.state = State::Closing;
                self.release_if_empty(id, now);
            }
            State::Draining(..) if gone => self.finish(id, None, now),
            State::Closing | State::Releasing(_) | State::Draining(..) => {}
        }
    }

    /// The application reads nothing more, but what it has sent may not have come here yet. What comes for it is dropped, and leaves room.
    pub(crate) fn abandon(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.abandoned = true;
            flow.receiver.discard_ready();
        }
    }

    /// A flow carries PDUs of the DIF above, which the program sends, too.
    pub(crate) fn carry(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.receiver.ignore_numbers();
        }
    }

    /// An SDU of the application.
    pub(crate) fn write(&mut self, id: FlowId, sdu: &[u8]) {
        if let Some(flow) = self.flows.get_mut(&id).filter(|flow| flow.is_open()) {
            flow.sender.push(sdu);
        }
    }

    /// A PDU of the DIF above, for a flow without retransmission. With `first` it goes before those that wait, with `whole` in one PDU.
    pub(crate) fn write_carried(&mut self, id: FlowId, pdu: &[u8], first: bool, whole: bool) {
        if let Some(flow) = self.flows.get_mut(&id).filter(|flow| flow.is_open()) {
            flow.sender.push_carried(pdu, first, whole);
        }
    }

    /// The next SDU for the application.
    pub(crate) fn read(&mut self, id: FlowId) -> Option<Vec<u8>> {
        let flow = self.flows.get_mut(&id)?;
        match flow.state {
            State::Open | State::Closing | State::Draining(..) => flow.receiver.pop(),
            // The other end has been told what was delivered.
            State::Requesting(_) | State::Unanswered | State::Releasing(_) => None,
        }
    }

    /// Gives back the SDU that [`Flows::read`] returned last.
    pub(crate) fn put_back(&mut self, id: FlowId, sdu: Vec<u8>) {
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.receiver.put_back(sdu);
        }
    }

    /// Takes a message about a flow from another member. `listens` says whether an application is registered here.
    pub(crate) fn receive(
        &mut self,
        (peer, life): (&Name, &Life),
        message: &Message,
        qos: impl Fn(u16) -> Option<Qos>,
        listens: impl Fn(&Name) -> bool,
        now: Duration,
    ) -> Option<()> {
        let notice = Notice::read(message)?;
        let named = self.flows.get(&notice.here).filter(|flow| {
            let same = flow.remote_cep == notice.there || flow.remote_cep == 0 || notice.there == 0;
            flow.peer == *peer && flow.life == *life && same
        });
        let found = match named {
            Some(_) => Some(notice.here),
            // The peer does not know the endpoint here.
            None if notice.here == 0 && notice.there != 0 => {
                self.flows.iter().find(|(_, flow)| flow.is_with(peer, life, notice.there)).map(|(id, _)| *id)
            }
            None => None,
        };
        if let Some(flow) = found.and_then(|id| self.flows.get_mut(&id)) {
            flow.hear(now);
        }
        match message.op_code {
            op::CREATE => self.asked((peer, life), found, notice, qos, listens, now),
            op::CREATE_R => self.answered(peer, found, &notice, now),
            op::READ => {
                let there = found.and_then(|id| self.flows.get(&id)).is_some_and(|flow| match flow.state {
                    State::Requesting(_) | State::Open | State::Closing | State::Releasing(_) => true,
                    State::Unanswered | State::Draining(..) => false,
                });
                let result = if there { result::DONE } else { result::UNKNOWN };
                self.out.push(Outgoing::Management(peer.clone(), notice.answer(&self.own, op::READ_R, result, None)));
            }
            op::READ_R => {
                let lost = found.filter(|id| notice.result != result::DONE && self.flows[id].transfers());
                if let Some(id) = lost {
                    self.drain(id, End::Unknown, None, now);
                }
            }
            op::DELETE => self.deleted(peer, life, found, &notice, now),
            op::DELETE_R => {
                if let Some(id) = found.filter(|id| matches!(self.flows[id].state, State::Releasing(_))) {
                    let end = if notice.result == result::DONE { self.outcome(id, &notice) } else { End::Unknown };
                    self.finish(id, Some(end), now);
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// M_CREATE.
    fn asked(
        &mut self,
        (peer, life): (&Name, &Life),
        found: Option<FlowId>,
        notice: Notice,
        qos: impl Fn(u16) -> Option<Qos>,
        listens: impl Fn(&Name) -> bool,
        now: Duration,
    ) {
        if let Some(id) = found {
            if self.flows[&id].transfers() {
                self.tell(id, op::CREATE_R, result::DONE);
            }
            return;
        }
        let refuse = |flows: &mut Flows, why| {
            flows.refused += 1;
            let message = notice.answer(&flows.own, op::CREATE_R, why, None);
            flows.out.push(Outgoing::Management(peer.clone(), message));
        };
        let (Some(from), Some(to)) = (&notice.from, &notice.to) else { return };
        if notice.there == 0 {
            return;
        }
        if self.past.find(peer, life, notice.there).is_some() {
            return refuse(self, result::REFUSED);
        }
        if !listens(to) {
            return refuse(self, result::NO_APPLICATION);
        }
        let Some(cube) = qos(notice.qos_id) else { return refuse(self, result::REFUSED) };
        let unanswered = self.flows.values().filter(|flow| flow.is_unanswered()).count();
        let names = [to.clone(), from.clone(), peer.clone()];
        if unanswered >= MOST_UNANSWERED {
            return refuse(self, result::FULL);
        }
        let mut flow = Flow::new(State::Unanswered, names, *life, notice.there, &cube, now);
        if self.encrypts {
            let Some(own) = KeyPair::new() else { return refuse(self, result::FULL) };
            flow.secrecy = Hiding::Agreed(Box::new(own));
        }
        if !flow.secrecy.agree(notice.public_key.as_deref(), false) {
            return refuse(self, result::SECRECY);
        }
        match self.add(flow, now) {
            Some(id) => {
                self.events.push_back((id, FlowEvent::Requested { to: to.clone(), from: from.clone() }));
            }
            None => refuse(self, result::FULL),
        }
    }

    /// M_CREATE_R.
    fn answered(&mut self, peer: &Name, found: Option<FlowId>, notice: &Notice, now: Duration) {
        let requesting = found.filter(|id| matches!(self.flows[id].state, State::Requesting(_)));
        match (requesting, notice.result) {
            (Some(id), result::DONE) if notice.there != 0 => {
                let Some(flow) = self.flows.get_mut(&id) else { return };
                flow.remote_cep = notice.there;
                if !flow.secrecy.agree(notice.public_key.as_deref(), true) {
                    self.tell(id, op::DELETE, result::GAVE_UP);
                    return self.finish(id, Some(End::Secrecy), now);
                }
                (flow.state, flow.since) = (State::Open, now);
                self.allocated += 1;
                self.events.push_back((id, FlowEvent::Allocated));
            }
            (Some(id), why) => {
                let end = match why {
                    result::FULL => End::Full,
                    result::NO_APPLICATION => End::NoApplication,
                    result::SECRECY => End::Secrecy,
                    _ => End::Refused,
                };
                self.finish(id, Some(end), now);
            }
            // Nobody waits for it any more.
            (None, result::DONE) if found.is_none() => {
                let message = notice.answer(&self.own, op::DELETE, result::GAVE_UP, None);
                self.out.push(Outgoing::Management(peer.clone(), message));
            }
            (None, _) => {}
        }
    }

    /// M_DELETE.
    fn deleted(&mut self, peer: &Name, life: &Life, found: Option<FlowId>, notice: &Notice, now: Duration) {
        let Some(id) = found else {
            let same = |before: &&past::Before| notice.here == 0 || before.id == notice.here;
            let before = self.past.find(peer, life, notice.there).filter(same);
            let (why, counts) = match before {
                Some(before) => (result::DONE, Some(before.counts)),
                None => (result::UNKNOWN, None),
            };
            let message = notice.answer(&self.own, op::DELETE_R, why, counts);
            return self.out.push(Outgoing::Management(peer.clone(), message));
        };
        self.tell(id, op::DELETE_R, result::DONE);
        match self.flows[&id].state {
            State::Unanswered => self.finish(id, None, now),
            State::Requesting(_) => self.finish(id, Some(End::Refused), now),
            State::Open | State::Closing => {
                let flow = &self.flows[&id];
                let (reliable, come) = (flow.qos.reliable, flow.receiver.next());
                let end = match self.outcome(id, notice) {
                    _ if notice.result != result::DONE => End::GaveUp,
                    _ if reliable && flow.receiver.complete() != notice.sent => End::Missing,
                    end => end,
                };
                let until = (!reliable && come < notice.pdus).then(|| now + STRAGGLERS);
                self.flows.entry(id).and_modify(|flow| flow.announced = notice.pdus);
                self.drain(id, end, until, now);
            }
            State::Releasing(_) => {
                let end = if notice.result == result::DONE { self.outcome(id, notice) } else { End::GaveUp };
                self.finish(id, Some(end), now);
            }
            State::Draining(..) => {}
        }
    }

    /// Whether what the application sent was delivered, as the other end says.
    fn outcome(&self, id: FlowId, notice: &Notice) -> End {
        let flow = &self.flows[&id];
        match flow.sender.pushed().saturating_sub(notice.delivered) {
            missing if missing > 0 && flow.qos.reliable => End::Undelivered(missing),
            _ => End::Closed,
        }
    }

    /// The other end begins its sequence numbers anew.
    pub(crate) fn begin_anew(&mut self, id: FlowId, number: u32) {
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.receiver.begin_anew(number);
        }
    }

    /// Takes a data or control PDU. False if it is of no flow.
    pub(crate) fn receive_pdu(&mut self, header: &Header, payload: &[u8], now: Duration) -> bool {
        let Some(flow) = self.flows.get_mut(&header.dst_cep) else { return false };
        if flow.remote_cep != header.src_cep {
            return false;
        }
        let takes = match flow.state {
            State::Open | State::Closing => true,
            State::Draining(_, until) => until.is_some() && header.kind == kind::DATA,
            State::Requesting(_) | State::Unanswered | State::Releasing(_) => false,
        };
        if !takes {
            return false;
        }
        let opened;
        let payload = match &mut flow.secrecy {
            Hiding::None => payload,
            Hiding::Agreed(_) => return false,
            Hiding::Keyed(secrecy) => match secrecy.open(header, payload) {
                Some(text) => {
                    opened = text;
                    &opened[..]
                }
                None => return false,
            },
        };
        match header.kind {
            kind::DATA => {
                flow.receiver.receive(header.sequence, header.flags, payload);
                if flow.abandoned {
                    flow.receiver.discard_ready();
                }
            }
            kind::ACK_FLOW | kind::SACK_FLOW => {
                let Some(ack) = Ack::parse(payload) else { return false };
                flow.sender.acknowledge(&ack, now);
            }
            _ => return false,
        }
        flow.hear(now);
        true
    }

    /// Sends what can be sent of a flow, and ends it if that was all.
    pub(crate) fn poll(&mut self, id: FlowId, now: Duration) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        if flow.is_drained(now) {
            let State::Draining(end, _) = flow.state else { return };
            return self.finish(id, Some(end), now);
        }
        if !flow.transfers() {
            return;
        }
        let (qos_id, dst_cep) = (flow.qos.id, flow.remote_cep);
        let header =
            |kind, flags, sequence| Header { flags, qos_id, dst_cep, src_cep: id, kind, sequence, ..Header::default() };
        let (peer, priority, secrecy, out) = (&flow.peer, flow.qos.priority, &mut flow.secrecy, &mut self.out);
        let mut push = |header: Header, payload: Vec<u8>| {
            let payload = match secrecy {
                Hiding::Keyed(secrecy) => secrecy.seal(&header, &payload),
                Hiding::None | Hiding::Agreed(_) => payload,
            };
            out.push(Outgoing::Data(peer.clone(), header, payload, priority));
        };
        if let Some(ack) = flow.receiver.take_ack() {
            let kind = if ack.ranges.is_empty() { kind::ACK_FLOW } else { kind::SACK_FLOW };
            push(header(kind, 0, ack.next), ack.write());
        }
        flow.sender.poll(now, &mut |number, flags, bytes| {
            push(header(kind::DATA, flags, number), bytes.to_vec());
        });
        self.release_if_empty(id, now);
    }

    fn release_if_empty(&mut self, id: FlowId, now: Duration) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        if flow.state == State::Closing && flow.sender.is_empty() {
            (flow.state, flow.since) = (State::Releasing(1), now);
            // What the application has not read by now it does not get: the other end is told.
            flow.abandoned = true;
            flow.receiver.discard_ready();
            self.tell(id, op::DELETE, result::DONE);
        }
    }

    /// When flows have something to do, if nothing happens before.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.flows.values().filter_map(Flow::due).min()
    }

    /// Flows whose [`Flows::poll`] has something to do.
    pub(crate) fn to_poll(&self, now: Duration) -> impl Iterator<Item = FlowId> {
        let due = move |flow: &Flow| flow.sender.due().is_some_and(|due| due <= now) || flow.is_drained(now);
        self.flows.iter().filter(move |(_, flow)| due(flow)).map(|(id, _)| *id)
    }

    /// Does what is due; `member` says what is known of a member.
    pub(crate) fn tick(&mut self, now: Duration, member: impl Fn(&Name) -> Peer) {
        self.past.forget(now);
        for id in self.flows.keys().copied().collect::<Vec<_>>() {
            let Some(flow) = self.flows.get_mut(&id) else { continue };
            let peer = member(&flow.peer);
            flow.lost = if peer.reachable { None } else { flow.lost.or(Some(now)) };
            let passed = now.saturating_sub(flow.since);
            if peer.life.is_some_and(|life| life != flow.life) {
                match flow.state {
                    State::Draining(..) => {}
                    State::Unanswered => self.finish(id, None, now),
                    State::Requesting(_) | State::Releasing(_) => self.finish(id, Some(End::Restarted), now),
                    State::Open | State::Closing => self.drain(id, End::Restarted, None, now),
                }
                continue;
            }
            match flow.state {
                State::Requesting(tries) if passed >= AGAIN => {
                    if tries == TRIES {
                        self.tell(id, op::DELETE, result::GAVE_UP);
                        self.finish(id, Some(End::NoAnswer), now);
                    } else {
                        (flow.state, flow.since) = (State::Requesting(tries + 1), now);
                        self.tell(id, op::CREATE, result::DONE);
                    }
                }
                State::Unanswered if passed >= ANSWER => self.answer(id, false, now),
                State::Open | State::Closing => {
                    let unreachable = flow.lost.is_some_and(|since| now.saturating_sub(since) >= UNREACHABLE);
                    let end = match now.saturating_sub(flow.heard) >= SILENT {
                        _ if unreachable => Some(End::Unreachable),
                        _ if flow.sender.broken() => Some(End::Unacknowledged),
                        true => Some(End::Silent),
                        false => None,
                    };
                    if let Some(end) = end {
                        self.tell(id, op::DELETE, result::GAVE_UP);
                        self.drain(id, end, None, now);
                    } else if now >= flow.question {
                        flow.question = now + IDLE_AGAIN;
                        self.tell(id, op::READ, result::DONE);
                    }
                }
                State::Releasing(tries) if passed >= AGAIN => {
                    if tries == RELEASES {
                        self.finish(id, Some(End::Unconfirmed), now);
                    } else {
                        (flow.state, flow.since) = (State::Releasing(tries + 1), now);
                        self.tell(id, op::DELETE, result::DONE);
                    }
                }
                _ => {}
            }
        }
    }

    fn tell(&mut self, id: FlowId, op_code: i32, result: i32) {
        let Some(flow) = self.flows.get(&id) else { return };
        self.out.push(Outgoing::Management(flow.peer.clone(), about(&self.own, id, flow, op_code, result)));
    }

    /// A flow is over; what has come is delivered first.
    fn drain(&mut self, id: FlowId, end: End, until: Option<Duration>, now: Duration) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        (flow.state, flow.since) = (State::Draining(end, until), now);
        if flow.is_drained(now) {
            self.finish(id, Some(end), now);
        }
    }

    /// Ends all flows, and tells the other ends: this IPC process stops.
    pub(crate) fn give_up(&mut self, now: Duration) {
        for id in self.flows.keys().copied().collect::<Vec<_>>() {
            if !matches!(self.flows[&id].state, State::Draining(..)) {
                self.tell(id, op::DELETE, result::GAVE_UP);
            }
            self.finish(id, None, now);
        }
    }

    /// Loses the state of a flow.
    #[cfg(test)]
    pub(crate) fn finish_silently(&mut self, id: FlowId, now: Duration) {
        self.finish(id, None, now);
    }

    /// A flow is over. Its endpoint rests.
    fn finish(&mut self, id: FlowId, end: Option<End>, now: Duration) {
        let Some(flow) = self.flows.remove(&id) else { return };
        let opened = !matches!(flow.state, State::Requesting(_) | State::Unanswered);
        self.failed += u64::from(opened && end.is_some_and(|end| !end.is_clean()));
        self.past.add(id, &flow, now + DELTA_T);
        self.events.extend(end.map(|end| (id, FlowEvent::Ended(end))));
    }
}
