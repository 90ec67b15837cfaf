//! Flows with members that run IRATI: its messages about them (`rinad/src/ipcp/flow-allocator.cc`), which travel in an object of their own from
//! neighbour to neighbour, and its control PDUs (`kernel/dtcp.c`), as those of [`crate::flows`] and back.
//!
//! A flow's object has the name of the requester's address and port. IRATI does not repeat requests, nor answer a release, nor tell how much
//! was delivered: a flow that is released ends when all that was sent is acknowledged.

use std::time::Duration;

use super::messages::{decode, encode};
use super::objects::{self, Directory, Dtcp, Dtp, about, name};
use crate::cdap::{self, Message, op};
use crate::efcp::{Ack, Qos};
use crate::flows::{Flow, FlowId, Flows};
use crate::name::Name;
use crate::pdu::{Header, RUN, kind};
use crate::plain::{
    self, ApName, Endpoints, FAILED, FlowObject as _, MOST, NEW_RUN, Order, Outcome, Remote, acknowledgement, native,
    short,
};
use crate::rib::{Announced, Rib};

/// Bytes behind the header of a control PDU that acknowledges and gives credit, and of one that does the first alone.
const ACK_FLOW: usize = 32;
const ACK: usize = 4;
const ACK_KIND: u8 = 0xc1;
/// A number that is so much behind the last one, or less, is of the run that goes on: it was sent again.
const BEHIND: u32 = 1 << 16;
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

fn named(op_code: i32, object: impl Into<String>) -> Message {
    Message::about(op_code, name::FLOW[0], object)
}

impl plain::FlowObject for FlowObject {
    fn request(request: &cdap::FlowRequest, cube: &Qos, here: FlowId, addresses: [u16; 2]) -> Message {
        let (dtp, dtcp) = objects::policies(cube);
        let value = FlowObject {
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
        };
        named(op::CREATE, object_name(addresses[0], here)).with_value(&value)
    }

    fn response(&mut self, object: &str, cep: u16, here: FlowId, addresses: [u16; 2]) -> Message {
        // The answer is written as the responder sees the flow.
        let value = FlowObject {
            source: self.destination.clone(),
            destination: self.source.clone(),
            source_port: here.into(),
            destination_port: Some(self.source_port),
            source_address: addresses[0].into(),
            destination_address: Some(addresses[1].into()),
            connections: vec![Connection {
                qos_id: self.connections.first().and_then(|connection| connection.qos_id),
                source_cep: Some(here.into()),
                destination_cep: Some(cep.into()),
            }],
            state: Some(ALLOCATED),
            ..self.clone()
        };
        named(op::CREATE_R, object).with_value(&value)
    }

    fn release(object: String, _: i32) -> Message {
        named(op::DELETE, object)
    }

    fn wrap(addresses: [u16; 2], message: &Message) -> Vec<u8> {
        let [source, destination] = addresses.map(|address| Some(i32::from(address)));
        let data = Data { source, destination, message: Some(encode(message)) };
        encode(&about(op::WRITE, name::DATA).with_value(&data))
    }
}

/// What IRATI's messages need that those here do not have.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    endpoints: Endpoints<FlowObject>,
    directory: Directory,
    /// What is sent to a member whose message nothing here can do: a request, or the answer to one that has been given up.
    refusal: Option<Vec<u8>>,
    /// A refused request was logged already.
    complained: bool,
}

impl Exchange {
    /// A member's request for a flow. None if it is known, or nothing here can do what it wants.
    fn requested(
        &mut self,
        from: &Name,
        [source, own]: [u16; 2],
        object: String,
        message: &Message,
        cubes: &[Qos],
    ) -> Option<Message> {
        let value: FlowObject = message.value().ok()?;
        let connection = *value.connections.first()?;
        let (cep, invoke_id) = (short(connection.source_cep)?, message.invoke_id?);
        let remotes = &self.endpoints.remotes;
        let known =
            remotes.iter().any(|((member, _), it)| member == from && it.object == object && it.request.is_some());
        if known || remotes.len() >= MOST {
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
            let (invoke_id, result, result_reason) = (Some(invoke_id), Some(FAILED), Some(WHY.into()));
            let about = named(op::CREATE_R, object).with_value(&value);
            let refusal = Message { invoke_id, result, result_reason, ..about };
            self.refusal = Some(FlowObject::wrap([own, source], &refusal));
            return None;
        }
        let fits = |cube: &&Qos| cube.reliable == reliable;
        let same = cubes.iter().filter(fits).find(|cube| Some(u32::from(cube.id)) == connection.qos_id);
        let cube = same.or_else(|| cubes.iter().find(fits))?;
        let applications = [&value.source.clone(), &value.destination.clone()];
        let port = value.source_port;
        let remote = Remote { cep, object, request: Some((value, invoke_id)) };
        self.endpoints.requested(from, message, applications, (port, cube), remote)
    }
}

impl plain::Exchange for Exchange {
    fn send(&mut self, to: &Name, addresses: [u16; 2], message: &Message, cubes: &[Qos]) -> Outcome {
        self.endpoints.send(to, addresses, message, cubes)
    }

    fn receive<'a>(
        &mut self,
        (from, addresses): (&Name, [u16; 2]),
        message: &Message,
        cubes: &[Qos],
        flow: &dyn Fn(FlowId) -> Option<&'a Flow>,
    ) -> Option<Message> {
        let object = message.obj_name.as_deref()?.strip_prefix(name::FLOW[1]).map(|_| message.obj_name.clone())??;
        match message.op_code {
            op::CREATE if message.is_about(name::FLOW[0]) => self.requested(from, addresses, object, message, cubes),
            op::CREATE_R => {
                let id = u16::try_from(message.invoke_id?).ok()?;
                if object != object_name(addresses[1], id) {
                    return None;
                }
                let Some(known) = flow(id).filter(|flow| flow.peer == *from) else {
                    // Its application has given up in between, which the other end does not know.
                    if message.result.is_none() {
                        let delete = named(op::DELETE, object);
                        self.refusal = Some(FlowObject::wrap([addresses[1], addresses[0]], &delete));
                    }
                    return None;
                };
                let asked = Some(known).filter(|flow| flow.remote_cep() == 0)?;
                let mut remote = None;
                if message.result.is_none() {
                    let value: FlowObject = message.value().ok()?;
                    let cep = short(value.connections.first()?.source_cep)?;
                    remote = Some(Remote { cep, object, request: None });
                }
                Some(self.endpoints.answered(from, message, (id, asked), remote))
            }
            op::DELETE => {
                let known =
                    self.endpoints.remotes.iter().find(|((member, _), it)| member == from && it.object == object);
                let place = known.map(|(place, _)| place.clone())?;
                let has = |order: &Order| order.remote.is_some_and(|(_, there)| there == place.1);
                let mut ids = self.endpoints.orders.iter().filter(|(_, order)| has(order)).map(|(id, _)| *id);
                let (id, ended) = ids.find_map(|id| Some((id, flow(id).filter(|flow| flow.peer == *from)?)))?;
                self.endpoints.remotes.remove(&place);
                Some(native(op::DELETE, message, &ended.release(id, place.1)))
            }
            _ => None,
        }
    }

    fn take_refusal(&mut self) -> Option<Vec<u8>> {
        self.refusal.take()
    }

    fn passed_on(&self, message: &Message) -> Option<([u16; 2], Message)> {
        unwrap(message)
    }

    fn passes_on(&self) -> bool {
        true
    }

    fn announced(&mut self, message: &Message, rib: &Rib) -> Option<Vec<Announced>> {
        self.directory.read(message, rib)
    }

    fn completed(&mut self, rib: &Rib) -> Vec<Announced> {
        if self.directory.is_waiting() { self.directory.resolve(rib) } else { Vec::new() }
    }

    fn write(&mut self, header: Header, payload: Vec<u8>) -> (Header, Vec<u8>) {
        let (order, header) = self.endpoints.sent(header);
        let Some(ack) = Ack::parse(&payload).filter(|_| header.kind != kind::DATA) else {
            // IRATI drops what comes before a PDU with the flag, at the beginning and after some time without data: it is on each PDU before
            // which all was acknowledged. With retransmission the first one is alone until then; without, any of them may be lost.
            let flags = if order.begun && header.sequence != order.acknowledged { 0 } else { RUN };
            return (Header { flags, ..header }, payload);
        };
        // What was received last in order, the last control PDU, the window's left and right edges, and those of the sender here.
        let last = ack.next.wrapping_sub(1);
        let numbers = [last, order.heard, last, ack.edge.wrapping_sub(1), 0, 0, 0, 0];
        (Header { sequence: order.next_control(), ..header }, numbers.into_iter().flat_map(u32::to_le_bytes).collect())
    }

    fn read(&mut self, header: Header, payload: &[u8], now: Duration) -> Option<(Header, Vec<u8>, bool)> {
        let (order, header) = self.endpoints.received(header)?;
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
        Some(acknowledgement(header, next, edge))
    }

    fn retain(&mut self, flows: &Flows) {
        self.endpoints.retain(flows);
    }
}
