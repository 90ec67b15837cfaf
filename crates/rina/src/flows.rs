//! The flow allocator: flows between applications, by requests to the IPC process that the directory names.
//!
//! The requester sends M_CREATE with a `FlowRequest` to the destination's IPC process, again and again until M_CREATE_R
//! comes; the answer to a repetition is that to the first. A flow ends with M_DELETE, or when one end is unreachable for
//! some time. Flows, and requests that no application has answered, are limited in number.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cdap::{ApName, ConnId, FlowRequest, Message, object, op};
use crate::efcp::receiver::Receiver;
use crate::efcp::sender::Sender;
use crate::efcp::{Ack, Qos};
use crate::name::Name;
use crate::pdu::{CONGESTION, Header, kind};

/// Flows at an IPC process.
const MOST: usize = 1024;
/// Requests of others that no application has answered.
const MOST_UNANSWERED: usize = 64;
/// From one CEP id to the next: odd, so that all come.
const STRIDE: u16 = 40_503;
/// Time between two requests, and their number.
const AGAIN: Duration = Duration::from_millis(300);
const TRIES: u32 = 20;
/// How long an application may take to answer a request.
const ANSWER: Duration = Duration::from_secs(5);
/// How long what an application sent last may take.
const LINGER: Duration = Duration::from_secs(5);
/// How long the other end may be unreachable.
const UNREACHABLE: Duration = Duration::from_secs(15);

/// A flow, by its connection endpoint at this IPC process.
pub type FlowId = u16;

/// What an application is told about a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowEvent {
    /// The flow that was requested is there.
    Allocated,
    /// An application asks for a flow; [`crate::ipcp::Ipcp::answer`] accepts or refuses it.
    Requested {
        /// The application that was asked for.
        to: Name,
        /// The one that asks.
        from: Name,
    },
    /// The flow is not there, or not any more.
    Ended(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// M_CREATE was sent so many times.
    Requesting(u32),
    /// The application has not answered.
    Unanswered,
    Open,
    /// The application has ended it: what it sent is delivered.
    Lingering,
}

#[derive(Debug)]
pub(crate) struct Flow {
    state: State,
    /// Of the last request, or of the state's beginning.
    since: Duration,
    pub local: Name,
    pub remote: Name,
    pub peer: Name,
    remote_cep: u16,
    pub qos: Qos,
    pub sender: Sender,
    pub receiver: Receiver,
    /// Since when the peer is unreachable.
    lost: Option<Duration>,
}

impl Flow {
    /// Whether data can be sent.
    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether an application has to answer.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.state == State::Unanswered
    }

    /// Its endpoint at the peer.
    pub(crate) fn remote_cep(&self) -> u16 {
        self.remote_cep
    }

    /// Its state, for people.
    pub(crate) fn state(&self) -> &'static str {
        match self.state {
            State::Requesting(_) => "requesting",
            State::Unanswered => "unanswered",
            State::Open => "open",
            State::Lingering => "closing",
        }
    }
}

/// What is to be sent to another member.
#[derive(Debug, PartialEq)]
pub(crate) enum Outgoing {
    Management(Name, Message),
    /// A PDU; its header lacks the addresses.
    Data(Name, Header, Vec<u8>, u8),
}

/// The flows of an IPC process.
#[derive(Debug)]
pub(crate) struct Flows {
    flows: BTreeMap<FlowId, Flow>,
    last: FlowId,
    /// Requests refused for want of room.
    pub refused: u64,
    /// Flows that there were.
    pub allocated: u64,
}

impl Flows {
    /// None yet. The first CEP id is that behind `last`.
    pub(crate) fn new(last: FlowId) -> Flows {
        Flows { flows: BTreeMap::new(), last, refused: 0, allocated: 0 }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        self.flows.iter().map(|(id, flow)| (*id, flow))
    }

    pub(crate) fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.flows.get_mut(&id)
    }

    fn add(&mut self, flow: Flow) -> Option<FlowId> {
        if self.flows.len() >= MOST {
            self.refused += 1;
            return None;
        }
        loop {
            // Scattered, so that routers spread flows over equal paths.
            self.last = self.last.wrapping_add(STRIDE);
            if self.last != 0 && !self.flows.contains_key(&self.last) {
                break;
            }
        }
        self.flows.insert(self.last, flow);
        Some(self.last)
    }

    fn flow(state: State, [local, remote, peer]: [Name; 3], remote_cep: u16, qos: &Qos, now: Duration) -> Flow {
        Flow {
            state,
            since: now,
            local,
            remote,
            peer,
            remote_cep,
            qos: qos.clone(),
            sender: Sender::new(qos),
            receiver: Receiver::new(qos),
            lost: None,
        }
    }

    /// Asks a member for a flow to an application there.
    pub(crate) fn request(&mut self, names: [Name; 3], qos: &Qos, now: Duration) -> Option<FlowId> {
        let mut flow = Flows::flow(State::Requesting(0), names, 0, qos, now);
        flow.since = now.saturating_sub(AGAIN);
        self.add(flow)
    }

    /// Answers a request.
    pub(crate) fn answer(&mut self, own: &Name, id: FlowId, accept: bool, now: Duration, out: &mut Vec<Outgoing>) {
        let Some(flow) = self.flows.get_mut(&id).filter(|flow| flow.state == State::Unanswered) else { return };
        out.push(Outgoing::Management(flow.peer.clone(), create_r(own, id, flow, accept)));
        if accept {
            (flow.state, flow.since) = (State::Open, now);
            self.allocated += 1;
        } else {
            self.flows.remove(&id);
        }
    }

    /// The application ends a flow: what it sent is delivered first.
    pub(crate) fn end(&mut self, own: &Name, id: FlowId, now: Duration, out: &mut Vec<Outgoing>) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        match flow.state {
            State::Unanswered => self.answer(own, id, false, now, out),
            State::Open => (flow.state, flow.since) = (State::Lingering, now),
            State::Requesting(_) => drop(self.flows.remove(&id)),
            State::Lingering => {}
        }
    }

    /// Takes a message about a flow from another member. `listens` says whether an application is registered here.
    pub(crate) fn receive(
        &mut self,
        own: &Name,
        (peer, message): (&Name, &Message),
        qos: impl Fn(u16) -> Option<Qos>,
        listens: impl Fn(&Name) -> bool,
        now: Duration,
        out: &mut Vec<Outgoing>,
    ) -> Option<(FlowId, FlowEvent)> {
        let request: FlowRequest = message.value().ok()?;
        let connection = request.connections.first()?;
        let cep = |cep: Option<u32>| u16::try_from(cep?).ok();
        let peer = peer.clone();
        match message.op_code {
            op::CREATE => {
                let (from, to): (Name, Name) =
                    (request.src_app.ap_name.parse().ok()?, request.dst_app.ap_name.parse().ok()?);
                let remote_cep = cep(connection.src_cep)?;
                let same = |flow: &&Flow| flow.peer == peer && flow.remote_cep == remote_cep;
                if let Some((id, flow)) = self.flows.iter().find(|(_, flow)| same(flow)) {
                    if flow.state == State::Open {
                        out.push(Outgoing::Management(peer, create_r(own, *id, flow, true)));
                    }
                    return None;
                }
                let unanswered = self.flows.values().filter(|flow| flow.state == State::Unanswered).count();
                let cube = qos(u16::try_from(connection.qosid?).ok()?);
                let names = [to.clone(), from.clone(), peer.clone()];
                match cube.filter(|_| listens(&to) && unanswered < MOST_UNANSWERED) {
                    Some(cube) => {
                        let id = self.add(Flows::flow(State::Unanswered, names, remote_cep, &cube, now))?;
                        Some((id, FlowEvent::Requested { to, from }))
                    }
                    None => {
                        self.refused += 1;
                        let none =
                            Qos { id: 0, name: String::new(), reliable: false, window: 1, rate: None, priority: 0 };
                        let flow = Flows::flow(State::Unanswered, names, remote_cep, &none, now);
                        out.push(Outgoing::Management(peer, create_r(own, 0, &flow, false)));
                        None
                    }
                }
            }
            op::CREATE_R => {
                let id = cep(connection.dst_cep)?;
                let flow = self.flows.get_mut(&id)?;
                if flow.peer != peer || !matches!(flow.state, State::Requesting(_)) {
                    return None;
                }
                if message.result.unwrap_or_default() != 0 {
                    self.flows.remove(&id);
                    return Some((id, FlowEvent::Ended("refused")));
                }
                flow.remote_cep = cep(connection.src_cep)?;
                (flow.state, flow.since) = (State::Open, now);
                self.allocated += 1;
                Some((id, FlowEvent::Allocated))
            }
            op::DELETE => {
                let id = cep(connection.dst_cep)?;
                let flow = self.flows.get(&id)?;
                if flow.peer != peer || Some(flow.remote_cep) != cep(connection.src_cep) {
                    return None;
                }
                // The application reads what has come before it is told.
                if flow.receiver.has_ready() && flow.state == State::Open {
                    let flow = self.flows.get_mut(&id)?;
                    (flow.state, flow.since) = (State::Lingering, now);
                    return None;
                }
                self.flows.remove(&id);
                Some((id, FlowEvent::Ended("closed by the other end")))
            }
            _ => None,
        }
    }

    /// Takes a data or control PDU from a member at this address. False if it is of no flow.
    pub(crate) fn receive_pdu(&mut self, header: &Header, payload: &[u8], now: Duration) -> bool {
        let Some(flow) = self.flows.get_mut(&header.dst_cep) else { return false };
        if flow.remote_cep != header.src_cep || !matches!(flow.state, State::Open | State::Lingering) {
            return false;
        }
        match header.kind {
            kind::DATA => flow.receiver.receive(header.sequence, payload, header.flags & CONGESTION != 0),
            kind::ACK_FLOW | kind::SACK_FLOW => {
                let Some(ack) = Ack::parse(payload) else { return false };
                flow.sender.acknowledge(&ack, now);
            }
            _ => return false,
        }
        true
    }

    /// Sends what can be sent of a flow.
    pub(crate) fn poll(&mut self, id: FlowId, now: Duration, out: &mut Vec<Outgoing>) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        if !matches!(flow.state, State::Open | State::Lingering) {
            return;
        }
        let header = |kind, sequence| Header {
            qos_id: flow.qos.id,
            dst_cep: flow.remote_cep,
            src_cep: id,
            kind,
            sequence,
            ..Header::default()
        };
        let (peer, priority) = (&flow.peer, flow.qos.priority);
        if let Some(ack) = flow.receiver.take_ack() {
            let kind = if ack.ranges.is_empty() { kind::ACK_FLOW } else { kind::SACK_FLOW };
            out.push(Outgoing::Data(peer.clone(), header(kind, ack.next), ack.write(), priority));
        }
        flow.sender.poll(now, &mut |number, sdu| {
            out.push(Outgoing::Data(peer.clone(), header(kind::DATA, number), sdu.to_vec(), priority));
        });
    }

    /// When a flow has something to do.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.flows.values().filter_map(|flow| flow.sender.due()).min()
    }

    /// Does what is due; `reachable` says which members can be reached.
    pub(crate) fn tick(
        &mut self,
        own: &Name,
        now: Duration,
        reachable: impl Fn(&Name) -> bool,
        out: &mut Vec<Outgoing>,
    ) -> Vec<(FlowId, FlowEvent)> {
        let mut events = Vec::new();
        let mut over = Vec::new();
        for (id, flow) in &mut self.flows {
            let passed = now.saturating_sub(flow.since);
            let lost = match reachable(&flow.peer) {
                true => None,
                false => Some(flow.lost.unwrap_or(now)),
            };
            flow.lost = lost;
            let unreachable = lost.is_some_and(|since| now.saturating_sub(since) >= UNREACHABLE);
            match flow.state {
                State::Requesting(tries) if passed >= AGAIN => {
                    if tries == TRIES {
                        over.push((*id, Some("no answer"), false));
                        continue;
                    }
                    (flow.state, flow.since) = (State::Requesting(tries + 1), now);
                    let request = about(own, *id, flow, op::CREATE);
                    out.push(Outgoing::Management(flow.peer.clone(), request));
                }
                State::Unanswered if passed >= ANSWER => {
                    out.push(Outgoing::Management(flow.peer.clone(), create_r(own, *id, flow, false)));
                    over.push((*id, Some("not answered"), false));
                }
                State::Open if unreachable || flow.sender.broken() => {
                    over.push((*id, Some("the other end is unreachable"), true));
                }
                State::Lingering if passed >= LINGER || flow.sender.is_empty() && !flow.receiver.has_ready() => {
                    over.push((*id, Some("closed"), true));
                }
                _ => {}
            }
        }
        for (id, reason, tell) in over {
            if let Some(flow) = self.flows.remove(&id)
                && tell
            {
                let message = about(own, id, &flow, op::DELETE);
                out.push(Outgoing::Management(flow.peer, message));
            }
            events.extend(reason.map(|reason| (id, FlowEvent::Ended(reason))));
        }
        events
    }
}

fn about(own: &Name, id: FlowId, flow: &Flow, op_code: i32) -> Message {
    let ap = |name: &Name| ApName { ap_name: name.to_string() };
    let request = FlowRequest {
        src_app: ap(&flow.local),
        dst_app: ap(&flow.remote),
        src_port: id.into(),
        dst_port: None,
        src_ipcp: own.to_string(),
        dst_ipcp: flow.peer.to_string(),
        connections: vec![ConnId {
            qosid: Some(flow.qos.id.into()),
            src_cep: Some(id.into()),
            dst_cep: Some(flow.remote_cep.into()),
        }],
    };
    Message {
        invoke_id: Some(id.into()),
        ..Message::about(op_code, object::FLOW, format!("{}/{own}/{id}", object::FLOW_NAME)).with_value(&request)
    }
}

fn create_r(own: &Name, id: FlowId, flow: &Flow, accept: bool) -> Message {
    let message = about(own, id, flow, op::CREATE_R);
    Message { invoke_id: Some(flow.remote_cep.into()), result: (!accept).then_some(-1), ..message }
}
