//! Flows with members that run IRATI: its messages about them (`rinad/src/ipcp/flow-allocator.cc`), which travel in an object of their own from
//! neighbour to neighbour, and its control PDUs (`kernel/dtcp.c`), as those of [`crate::flows`] and back.
//!
//! A flow's port is its connection endpoint here, and its object has the name of the requester's address and port. IRATI's endpoints are used
//! again soon: the other end of each flow has another number here, which PDUs and messages do not show. IRATI does not repeat requests, nor
//! answer a release, nor tell how much was delivered: a flow that is released ends when all that was sent is acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::messages::{decode, encode};
use super::objects::{self, Dtcp, Dtp, about, name};
use crate::cdap::{self, ConnId, Message, object, op};
use crate::efcp::{Ack, Qos};
use crate::flows::{Flow, FlowId};
use crate::name::Name;
use crate::pdu::{Header, RUN, kind};
use crate::rlite::flows::Outcome;
use crate::rlite::objects::ApName;

/// Bytes behind the header of a control PDU that acknowledges and gives credit, and of one that does the first alone.
const ACK_FLOW: usize = 32;
const ACK: usize = 4;
const ACK_KIND: u8 = 0xc1;
/// Time without data after which the flag says that a sender begins a new run of sequence numbers.
const NEW_RUN: Duration = Duration::from_secs(20);
/// A number that is so much behind the last one, or less, is of the run that goes on: it was sent again.
const BEHIND: u32 = 1 << 16;
/// Requests of others that are remembered.
const MOST: usize = 2048;
/// States of a flow's object: it is being allocated, and it is allocated.
const ALLOCATION: u32 = 1;
const ALLOCATED: u32 = 2;

/// `qosSpecification_t`.
#[derive(Clone, PartialEq, prost::Message)]
struct QosSpec {
    #[prost(uint64, optional, tag = "3")]
    average_bandwidth: Option<u64>,
    #[prost(bool, optional, tag = "8")]
    partial_delivery: Option<bool>,
    #[prost(bool, optional, tag = "9")]
    order: Option<bool>,
    #[prost(int32, optional, tag = "10")]
    max_gap: Option<i32>,
    #[prost(bool, optional, tag = "14")]
    msg_boundaries: Option<bool>,
}

/// `connectionId_t`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Connection {
    #[prost(uint32, optional, tag = "1")]
    qos_id: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    source_cep: Option<u32>,
    #[prost(uint32, optional, tag = "3")]
    destination_cep: Option<u32>,
}

/// `Flow`.
#[derive(Clone, PartialEq, prost::Message)]
struct FlowObject {
    #[prost(message, required, tag = "1")]
    source: ApName,
    #[prost(message, required, tag = "2")]
    destination: ApName,
    #[prost(uint64, required, tag = "3")]
    source_port: u64,
    #[prost(uint64, optional, tag = "4")]
    destination_port: Option<u64>,
    #[prost(uint64, required, tag = "5")]
    source_address: u64,
    #[prost(uint64, optional, tag = "6")]
    destination_address: Option<u64>,
    #[prost(message, repeated, tag = "7")]
    connections: Vec<Connection>,
    #[prost(uint32, optional, tag = "8")]
    current_connection: Option<u32>,
    #[prost(uint32, optional, tag = "9")]
    state: Option<u32>,
    #[prost(message, optional, tag = "10")]
    qos: Option<QosSpec>,
    #[prost(message, optional, tag = "12")]
    dtp: Option<Dtp>,
    #[prost(message, optional, tag = "13")]
    dtcp: Option<Dtcp>,
    #[prost(uint32, optional, tag = "15")]
    max_create_flow_retries: Option<u32>,
    #[prost(uint32, optional, tag = "16")]
    create_flow_retries: Option<u32>,
    #[prost(uint32, optional, tag = "17")]
    hop_count: Option<u32>,
}

/// `a_data_t`: a message to a member that is no neighbour.
#[derive(Clone, PartialEq, prost::Message)]
struct Data {
    #[prost(int32, optional, tag = "1")]
    source: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    destination: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "3")]
    message: Option<Vec<u8>>,
}

/// A flow's other end.
#[derive(Debug)]
struct Remote {
    /// Its endpoint there.
    cep: u16,
    /// The name of the flow's object.
    object: String,
    /// The request that came from there, and its number.
    request: Option<(FlowObject, i32)>,
}

/// The order of PDUs of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    /// The other end's endpoint there, and its number here.
    remote: Option<(u16, u16)>,
    /// The number of the next control PDU, and of the last one of the other end.
    control: u32,
    heard: u32,
    /// When data came last, and the number of the newest PDU.
    data: Option<Duration>,
    newest: u32,
    /// Something was acknowledged. Until then data PDUs say that a run begins.
    begun: bool,
    /// All before this number was acknowledged.
    acknowledged: u32,
}

/// What IRATI's messages about flows need that those here do not have.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    /// By member and number here.
    remotes: BTreeMap<(Name, u16), Remote>,
    orders: BTreeMap<FlowId, Order>,
    /// Flows whose request was sent.
    requested: BTreeSet<FlowId>,
    last: u16,
    /// What is sent to a member whose message nothing here can do: a request, or the answer to one that has been given up.
    refusal: Option<Vec<u8>>,
    /// The log has said that a request was refused.
    complained: bool,
}

/// The management SDU of a message to a member that is no neighbour, perhaps.
fn wrap(addresses: [u16; 2], message: &Message) -> Vec<u8> {
    let [source, destination] = addresses.map(|address| Some(i32::from(address)));
    let data = Data { source, destination, message: Some(encode(message)) };
    encode(&about(op::WRITE, name::DATA).with_value(&data))
}

/// The message inside, and the addresses of the member that sent it and the one that is to get it.
pub(crate) fn unwrap(message: &Message) -> Option<([u16; 2], Message)> {
    if message.op_code != op::WRITE || message.obj_name.as_deref() != Some(name::DATA[1]) {
        return None;
    }
    let data: Data = message.value().ok()?;
    let address = |address: Option<i32>| u16::try_from(address?).ok();
    Some(([address(data.source)?, address(data.destination)?], decode(data.message.as_deref()?)?))
}

fn object_name(address: u16, port: FlowId) -> String {
    format!("{}{address}-{port}", name::FLOW[1])
}

fn short(number: Option<u32>) -> Option<u16> {
    number.and_then(|number| u16::try_from(number).ok())
}

impl Exchange {
    /// A number for the other end of a new flow.
    fn fresh(&mut self, member: &Name) -> u16 {
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            if !self.remotes.contains_key(&(member.clone(), self.last)) {
                return self.last;
            }
        }
    }

    /// A message about a flow here, to a member. `addresses`: of this member and of that one.
    pub(crate) fn send(&mut self, to: &Name, addresses: [u16; 2], message: &Message, cubes: &[Qos]) -> Outcome {
        let Ok(request) = message.value::<cdap::FlowRequest>() else { return Outcome::default() };
        let Some(connection) = request.connections.first() else { return Outcome::default() };
        let (here, there) =
            (short(connection.src_cep).unwrap_or_default(), short(connection.dst_cep).unwrap_or_default());
        // What the other end would answer, if it did.
        let answer =
            |op_code| Some(Message::about(op_code, object::FLOW, object::FLOW_NAME).with_value(&request.mirrored()));
        let named = |op_code, object: &str| Message::about(op_code, name::FLOW[0], object);
        match message.op_code {
            op::CREATE if self.requested.insert(here) => {
                let Some(cube) = cubes.iter().find(|cube| Some(cube.id.into()) == connection.qosid) else {
                    return Outcome::default();
                };
                let value = flow_object(&request, cube, here, addresses);
                let message = named(op::CREATE, &object_name(addresses[0], here)).with_value(&value);
                let message = Message { invoke_id: Some(here.into()), ..message };
                Outcome { sdu: Some(wrap(addresses, &message)), answer: None }
            }
            op::CREATE_R => {
                let Some(remote) = self.remotes.get_mut(&(to.clone(), there)) else { return Outcome::default() };
                let Remote { cep, object, request: Some((asked, invoke_id)) } = remote else {
                    return Outcome::default();
                };
                // The answer is written as the responder sees the flow.
                let value = FlowObject {
                    source: asked.destination.clone(),
                    destination: asked.source.clone(),
                    source_port: here.into(),
                    destination_port: Some(asked.source_port),
                    source_address: addresses[0].into(),
                    destination_address: Some(addresses[1].into()),
                    connections: vec![Connection {
                        qos_id: asked.connections.first().and_then(|connection| connection.qos_id),
                        source_cep: Some(here.into()),
                        destination_cep: Some((*cep).into()),
                    }],
                    state: Some(ALLOCATED),
                    ..asked.clone()
                };
                let refused = message.result.is_some();
                let response = Message {
                    invoke_id: Some(*invoke_id),
                    result: message.result,
                    result_reason: refused.then(|| "refused".into()),
                    ..named(op::CREATE_R, object).with_value(&value)
                };
                match refused {
                    true => drop(self.remotes.remove(&(to.clone(), there))),
                    false => self.orders.entry(here).or_default().remote = Some((*cep, there)),
                }
                Outcome { sdu: Some(wrap(addresses, &response)), answer: None }
            }
            op::DELETE => {
                let remote = self.remotes.remove(&(to.clone(), there));
                let sdu = remote.map(|remote| wrap(addresses, &named(op::DELETE, &remote.object)));
                Outcome { sdu, answer: answer(op::DELETE_R) }
            }
            op::READ => Outcome { sdu: None, answer: answer(op::READ_R) },
            _ => Outcome::default(),
        }
    }

    /// What a member says about a flow, as messages here. `flow` finds one by its endpoint; `addresses` are the member's and this one's.
    pub(crate) fn receive<'a>(
        &mut self,
        (from, addresses): (&Name, [u16; 2]),
        message: &Message,
        cubes: &[Qos],
        flow: impl Fn(FlowId) -> Option<&'a Flow>,
    ) -> Option<Message> {
        let about = |op_code, value: &cdap::FlowRequest| {
            let about = Message::about(op_code, object::FLOW, object::FLOW_NAME).with_value(value);
            Message { result: message.result, ..about }
        };
        let object = message.obj_name.as_deref()?.strip_prefix(name::FLOW[1]).map(|_| message.obj_name.clone())??;
        match message.op_code {
            op::CREATE if message.is_about(name::FLOW[0]) => {
                let request = self.requested_by(from, addresses, object, message, cubes)?;
                Some(about(op::CREATE, &request))
            }
            op::CREATE_R => {
                let id = u16::try_from(message.invoke_id?).ok()?;
                if object != object_name(addresses[1], id) {
                    return None;
                }
                let Some(known) = flow(id).filter(|flow| flow.peer == *from) else {
                    // Its application has given up in between, which the other end does not know.
                    if message.result.is_none() {
                        let delete = Message::about(op::DELETE, name::FLOW[0], object);
                        self.refusal = Some(wrap([addresses[1], addresses[0]], &delete));
                    }
                    return None;
                };
                let asked = Some(known).filter(|flow| flow.remote_cep() == 0)?;
                let there = self.fresh(from);
                if message.result.is_none() {
                    let value: FlowObject = message.value().ok()?;
                    let cep = short(value.connections.first()?.source_cep)?;
                    self.remotes.insert((from.clone(), there), Remote { cep, object, request: None });
                    self.orders.entry(id).or_default().remote = Some((cep, there));
                }
                Some(about(op::CREATE_R, &asked.answer(id, there)))
            }
            op::DELETE => {
                let known = self.remotes.iter().find(|((member, _), it)| member == from && it.object == object);
                let place = known.map(|(place, _)| place.clone())?;
                let has = |order: &Order| order.remote.is_some_and(|(_, there)| there == place.1);
                let mut ids = self.orders.iter().filter(|(_, order)| has(order)).map(|(id, _)| *id);
                let (id, ended) = ids.find_map(|id| Some((id, flow(id).filter(|flow| flow.peer == *from)?)))?;
                self.remotes.remove(&place);
                Some(about(op::DELETE, &ended.release(id, place.1)))
            }
            _ => None,
        }
    }

    /// Takes the management SDU that refuses what came last.
    pub(crate) fn take_refusal(&mut self) -> Option<Vec<u8>> {
        self.refusal.take()
    }

    /// A member's request for a flow. None if it is known, or nothing here can do what it wants.
    fn requested_by(
        &mut self,
        from: &Name,
        [source, own]: [u16; 2],
        object: String,
        message: &Message,
        cubes: &[Qos],
    ) -> Option<cdap::FlowRequest> {
        let value: FlowObject = message.value().ok()?;
        let connection = *value.connections.first()?;
        let (cep, invoke_id) = (short(connection.source_cep)?, message.invoke_id?);
        let known =
            self.remotes.iter().any(|((member, _), it)| member == from && it.object == object && it.request.is_some());
        if known || self.remotes.len() >= MOST {
            return None;
        }
        let wants = |what: fn(&Dtcp) -> Option<bool>| value.dtcp.as_ref().and_then(what).unwrap_or_default();
        let (reliable, paced) = (wants(|dtcp| dtcp.retransmission), wants(|dtcp| dtcp.flow_control));
        if paced && !reliable {
            const WHY: &str = "flow control without retransmission is not there";
            // Once: anybody can ask again and again.
            if !std::mem::replace(&mut self.complained, true) {
                tracing::warn!(neighbour = %from, "no flow: {WHY}");
            }
            let refusal = Message::about(op::CREATE_R, name::FLOW[0], object).with_value(&value);
            let result_reason = Some(WHY.into());
            let refusal = Message { invoke_id: Some(invoke_id), result: Some(-1), result_reason, ..refusal };
            self.refusal = Some(wrap([own, source], &refusal));
            return None;
        }
        let fits = |cube: &&Qos| cube.reliable == reliable;
        let same = cubes.iter().filter(fits).find(|cube| Some(u32::from(cube.id)) == connection.qos_id);
        let cube = same.or_else(|| cubes.iter().find(fits))?;
        let ap_name = |name: &ApName| Some(cdap::ApName { ap_name: name.name()?.to_string() });
        let there = self.fresh(from);
        let request = cdap::FlowRequest {
            src_app: ap_name(&value.source)?,
            dst_app: ap_name(&value.destination)?,
            src_port: value.source_port,
            src_ipcp: from.to_string(),
            connections: vec![ConnId { qosid: Some(cube.id.into()), src_cep: Some(there.into()), dst_cep: None }],
            ..cdap::FlowRequest::default()
        };
        self.remotes.insert((from.clone(), there), Remote { cep, object, request: Some((value, invoke_id)) });
        Some(request)
    }

    /// A PDU of a flow as IRATI writes it.
    pub(crate) fn write(&mut self, header: Header, payload: Vec<u8>) -> (Header, Vec<u8>) {
        let order = self.orders.entry(header.src_cep).or_default();
        let header = Header { dst_cep: order.remote.map_or(header.dst_cep, |(there, _)| there), ..header };
        let Some(ack) = Ack::parse(&payload).filter(|_| header.kind != kind::DATA) else {
            // IRATI drops what comes before a PDU with the flag, at the beginning and after some time without data: it is on each PDU before
            // which all was acknowledged. With retransmission the first one is alone until then; without, any of them may be lost.
            let flags = if order.begun && header.sequence != order.acknowledged { 0 } else { RUN };
            return (Header { flags, ..header }, payload);
        };
        let sequence = order.control;
        order.control = order.control.wrapping_add(1);
        // What was received last in order, the last control PDU, the window's left and right edges, and those of the sender here.
        let last = ack.next.wrapping_sub(1);
        let numbers = [last, order.heard, last, ack.edge.wrapping_sub(1), 0, 0, 0, 0];
        (Header { sequence, ..header }, numbers.into_iter().flat_map(u32::to_le_bytes).collect())
    }

    /// A PDU of a flow as it is here. The flag says whether a run of sequence numbers begins anew. None if it is none.
    pub(crate) fn read(&mut self, header: Header, payload: &[u8], now: Duration) -> Option<(Header, Vec<u8>, bool)> {
        let order = self.orders.entry(header.dst_cep).or_default();
        let src_cep = match order.remote {
            Some((there, here)) if there == header.src_cep => here,
            Some(_) => return None,
            None => header.src_cep,
        };
        let header = Header { src_cep, ..header };
        if header.kind == kind::DATA {
            let idle = order.data.is_none_or(|at| now.saturating_sub(at) >= NEW_RUN);
            let again = order.data.is_some() && order.newest.wrapping_sub(header.sequence) < BEHIND;
            let begins = header.flags & RUN != 0 && idle && !again;
            if !again {
                order.newest = header.sequence;
            }
            order.data = Some(now);
            // Other flags would be those of parts of an SDU.
            let flags = header.flags & crate::pdu::CONGESTION;
            return Some((Header { flags, ..header }, payload.to_vec(), begins));
        }
        let (words, _) = payload.get(..if header.kind == ACK_KIND { ACK } else { ACK_FLOW })?.as_chunks::<4>();
        let word = |at: usize| words.get(at).copied().map(u32::from_le_bytes);
        let next = match header.kind {
            kind::ACK_FLOW | ACK_KIND => word(0)?.wrapping_add(1),
            _ => return None,
        };
        if !order.begun || (next.wrapping_sub(order.acknowledged) as i32) > 0 {
            order.acknowledged = next;
        }
        (order.heard, order.begun) = (header.sequence, true);
        let edge = word(3).map_or(next, |right| right.wrapping_add(1));
        let ack = Ack { next, edge, received: 0, marked: 0, ranges: Vec::new() };
        Some((Header { kind: kind::ACK_FLOW, ..header }, ack.write(), false))
    }

    /// Forgets flows that there are no more.
    pub(crate) fn retain(&mut self, flows: &crate::flows::Flows) {
        self.orders.retain(|id, _| flows.get(*id).is_some());
        self.requested.retain(|id| flows.get(*id).is_some());
        if self.remotes.len() > flows.iter().count() {
            let there: BTreeSet<_> = flows.iter().map(|(_, flow)| (flow.peer.clone(), flow.remote_cep())).collect();
            self.remotes.retain(|place, _| there.contains(place));
        }
    }
}

/// The object of a flow that is requested.
fn flow_object(request: &cdap::FlowRequest, cube: &Qos, here: FlowId, addresses: [u16; 2]) -> FlowObject {
    let (dtp, dtcp) = objects::policies(cube);
    FlowObject {
        source: ApName::new(&request.src_app.ap_name),
        destination: ApName::new(&request.dst_app.ap_name),
        source_port: here.into(),
        destination_port: Some(0),
        source_address: addresses[0].into(),
        destination_address: Some(addresses[1].into()),
        connections: vec![Connection {
            qos_id: Some(cube.id.into()),
            source_cep: Some(here.into()),
            destination_cep: Some(0),
        }],
        current_connection: Some(0),
        state: Some(ALLOCATION),
        qos: Some(QosSpec {
            average_bandwidth: Some(0),
            partial_delivery: Some(false),
            order: Some(cube.reliable),
            max_gap: Some(if cube.reliable { 0 } else { -1 }),
            msg_boundaries: Some(true),
        }),
        dtp: Some(dtp),
        dtcp: Some(dtcp),
        max_create_flow_retries: Some(1),
        create_flow_retries: Some(0),
        hop_count: Some(3),
    }
}
