//! Flows with members that run rlite: its messages about them (`user/uipcps/uipcp-normal-flow-alloc.cpp`), which travel in an object of
//! their own, and its control PDUs (`kernel/normal.c`), as those of [`crate::flows`] and back.
//!
//! A flow's port is its connection endpoint here. rlite's endpoints begin with 0, and are used again a few seconds after a flow: the other end
//! of each flow has another number here, which PDUs and messages do not show. rlite does not repeat requests, nor answer a release, nor tell
//! how much was delivered: a flow that is released ends when all that was sent is acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::messages::{decode, encode};
use super::objects::{ApName, name};
use crate::cdap::{self, ConnId, Message, object, op};
use crate::efcp::{Ack, Qos};
use crate::flows::{Flow, FlowId};
use crate::name::Name;
use crate::pdu::{Header, RUN, kind};

/// Bytes behind the header of a control PDU.
const CONTROL: usize = 24;
/// Types of control PDUs: these bits say that one acknowledges, and that it gives credit.
const CONTROL_TYPE: u8 = 0xc0;
const ACKNOWLEDGES: u8 = 0x04;
const GIVES_CREDIT: u8 = 0x08;
/// Time without data after which the flag says that a sender begins a new run of sequence numbers. A PDU is sent again for 10 s, and a
/// sender that is idle begins anew after 33 s.
const NEW_RUN: Duration = Duration::from_secs(20);
/// Requests of others that are remembered.
const MOST: usize = 2048;

#[derive(Clone, PartialEq, prost::Message)]
struct QosSpec {
    #[prost(uint64, optional, tag = "3")]
    avg_bw: Option<u64>,
    #[prost(bool, optional, tag = "8")]
    partial_delivery: Option<bool>,
    #[prost(bool, optional, tag = "9")]
    in_order_delivery: Option<bool>,
    #[prost(int32, optional, tag = "10")]
    max_sdu_gap: Option<i32>,
}

/// `WindowBasedFlowCtrlConfig`.
#[derive(Clone, PartialEq, prost::Message)]
struct Window {
    #[prost(uint64, optional, tag = "1")]
    max_cwq_len: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    initial_credit: Option<u64>,
}

/// `FlowCtrlConfig`.
#[derive(Clone, PartialEq, prost::Message)]
struct FlowControl {
    #[prost(bool, optional, tag = "1")]
    window_based: Option<bool>,
    #[prost(message, optional, tag = "2")]
    window: Option<Window>,
    #[prost(bool, optional, tag = "3")]
    rate_based: Option<bool>,
}

/// `RtxCtrlConfig`. Times are in milliseconds.
#[derive(Clone, PartialEq, prost::Message)]
struct Retransmission {
    #[prost(uint32, optional, tag = "1")]
    max_time_to_retry: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    data_rxmsn_max: Option<u32>,
    #[prost(uint32, optional, tag = "9")]
    initial_rtx_timeout: Option<u32>,
}

/// `DtcpConfig`.
#[derive(Clone, PartialEq, prost::Message)]
struct Dtcp {
    #[prost(bool, optional, tag = "1")]
    flow_ctrl: Option<bool>,
    #[prost(message, optional, tag = "2")]
    flow_control: Option<FlowControl>,
    #[prost(bool, optional, tag = "3")]
    rtx_ctrl: Option<bool>,
    #[prost(message, optional, tag = "4")]
    retransmission: Option<Retransmission>,
}

/// `ConnPolicies`.
#[derive(Clone, PartialEq, prost::Message)]
struct Policies {
    #[prost(bool, optional, tag = "1")]
    dtcp_present: Option<bool>,
    #[prost(message, optional, tag = "2")]
    dtcp: Option<Dtcp>,
    #[prost(uint32, optional, tag = "7")]
    initial_a_timer: Option<u32>,
}

/// `FlowRequest`.
#[derive(Clone, PartialEq, prost::Message)]
struct FlowRequest {
    #[prost(message, required, tag = "1")]
    src_app: ApName,
    #[prost(message, required, tag = "2")]
    dst_app: ApName,
    #[prost(uint64, required, tag = "3")]
    src_port: u64,
    #[prost(uint64, optional, tag = "4")]
    dst_port: Option<u64>,
    #[prost(string, required, tag = "5")]
    src_ipcp: String,
    #[prost(string, required, tag = "6")]
    dst_ipcp: String,
    #[prost(message, repeated, tag = "7")]
    connections: Vec<ConnId>,
    #[prost(uint32, optional, tag = "8")]
    cur_conn_idx: Option<u32>,
    #[prost(uint32, optional, tag = "9")]
    state: Option<u32>,
    #[prost(message, optional, tag = "10")]
    qos: Option<QosSpec>,
    #[prost(message, optional, tag = "11")]
    policies: Option<Policies>,
    #[prost(uint32, optional, tag = "13")]
    max_create_flow_retries: Option<u32>,
    #[prost(uint32, optional, tag = "14")]
    create_flow_retries: Option<u32>,
    #[prost(uint32, optional, tag = "15")]
    hop_cnt: Option<u32>,
}

/// `AData`: a message to a member that is no neighbour.
#[derive(Clone, PartialEq, prost::Message)]
struct Data {
    #[prost(int32, optional, tag = "1")]
    src_addr: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    dst_addr: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "3")]
    cdap_msg: Option<Vec<u8>>,
}

/// A flow's other end.
#[derive(Debug)]
struct Remote {
    /// Its endpoint there.
    cep: u16,
    port: u64,
    /// The request that came from there, and its number.
    request: Option<(FlowRequest, i32)>,
}

/// The order of PDUs of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    /// The other end's endpoint there, and its number here.
    remote: Option<(u16, u16)>,
    /// The number of the next control PDU.
    control: u32,
    /// When data came last.
    data: Option<Duration>,
    /// The first data PDU was sent. When it is sent again it has no flag: rlite would deliver it twice.
    begun: bool,
}

/// What rlite's messages about flows need that those here do not have.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    /// By member and number here.
    remotes: BTreeMap<(Name, u16), Remote>,
    orders: BTreeMap<FlowId, Order>,
    /// Flows whose request was sent.
    requested: BTreeSet<FlowId>,
    invoke_id: i32,
    last: u16,
}

/// What becomes of a message about a flow.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// The management SDU to send.
    pub sdu: Option<Vec<u8>>,
    /// What the other end would answer, if it could.
    pub answer: Option<Message>,
}

fn policies(cube: &Qos) -> (QosSpec, Policies) {
    let reliable = cube.reliable;
    let number = |number: u32| Some(if reliable { number } else { 0 });
    let qos = QosSpec {
        avg_bw: Some(0),
        partial_delivery: Some(false),
        in_order_delivery: Some(reliable),
        max_sdu_gap: Some(if reliable { 0 } else { -1 }),
    };
    // The window's last number may be sent, too.
    let window = || Window { max_cwq_len: Some(128), initial_credit: Some(u64::from(cube.window.max(2)) - 1) };
    let flow_control =
        FlowControl { window_based: Some(reliable), window: reliable.then(window), rate_based: Some(false) };
    let retransmission =
        Retransmission { max_time_to_retry: number(15), data_rxmsn_max: number(10), initial_rtx_timeout: number(1000) };
    let dtcp = Dtcp {
        flow_ctrl: Some(reliable),
        flow_control: Some(flow_control),
        rtx_ctrl: Some(reliable),
        retransmission: Some(retransmission),
    };
    (qos, Policies { dtcp_present: Some(reliable), dtcp: Some(dtcp), initial_a_timer: number(20) })
}

/// The management SDU of a message to a member that is no neighbour.
pub(super) fn wrap(addresses: [u16; 2], message: &Message) -> Vec<u8> {
    let [src, dst] = addresses.map(|address| Some(i32::from(address)));
    let data = Data { src_addr: src, dst_addr: dst, cdap_msg: Some(encode(message, false)) };
    encode(&Message::about(op::WRITE, name::DATA, name::DATA_NAME).with_value(&data), false)
}

/// The message of an SDU, and the address of the member that sent it.
pub(crate) fn unwrap(sdu: &[u8]) -> Option<(u16, Message)> {
    let data: Data = unwrap_outer(sdu)?.value().ok()?;
    Some((u16::try_from(data.src_addr?).ok()?, decode(data.cdap_msg.as_deref()?)?))
}

fn unwrap_outer(sdu: &[u8]) -> Option<Message> {
    decode(sdu).filter(|outer| outer.is_about(name::DATA) && outer.obj_name.as_deref() == Some(name::DATA_NAME))
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
        let cep = |cep: Option<u32>| cep.and_then(|cep| u16::try_from(cep).ok()).unwrap_or_default();
        let (here, there) = (cep(connection.src_cep), cep(connection.dst_cep));
        let answer =
            |op_code| Some(Message::about(op_code, object::FLOW, object::FLOW_NAME).with_value(&request.mirrored()));
        match message.op_code {
            op::CREATE if self.requested.insert(here) => {
                let Some(cube) = cubes.iter().find(|cube| Some(cube.id.into()) == connection.qosid) else {
                    return Outcome::default();
                };
                let (qos, policies) = policies(cube);
                let value = FlowRequest {
                    src_app: ApName::new(&request.src_app.ap_name),
                    dst_app: ApName::new(&request.dst_app.ap_name),
                    src_port: here.into(),
                    dst_port: Some(0),
                    src_ipcp: request.src_ipcp,
                    dst_ipcp: request.dst_ipcp,
                    connections: vec![ConnId { dst_cep: Some(0), ..*connection }],
                    cur_conn_idx: Some(0),
                    state: Some(1),
                    qos: Some(qos),
                    policies: Some(policies),
                    max_create_flow_retries: Some(3),
                    create_flow_retries: Some(0),
                    hop_cnt: Some(0),
                };
                let about = Message::about(op::CREATE, object::FLOW, object::FLOW_NAME).with_value(&value);
                let message = Message { invoke_id: Some(here.into()), ..about };
                Outcome { sdu: Some(wrap(addresses, &message)), answer: None }
            }
            op::CREATE_R => {
                let Some(remote) = self.remotes.get_mut(&(to.clone(), there)) else { return Outcome::default() };
                let Remote { cep, request: Some((value, invoke_id)), .. } = remote else { return Outcome::default() };
                let cep = *cep;
                value.dst_port = Some(here.into());
                if let Some(connection) = value.connections.first_mut() {
                    connection.dst_cep = Some(here.into());
                }
                let refused = message.result.is_some();
                let response = Message {
                    invoke_id: Some(*invoke_id),
                    result: message.result,
                    result_reason: refused.then(|| "refused".into()),
                    ..Message::about(op::CREATE_R, object::FLOW, object::FLOW_NAME).with_value(value)
                };
                match refused {
                    true => drop(self.remotes.remove(&(to.clone(), there))),
                    false => self.orders.entry(here).or_default().remote = Some((cep, there)),
                }
                Outcome { sdu: Some(wrap(addresses, &response)), answer: None }
            }
            op::DELETE => {
                let remote = self.remotes.remove(&(to.clone(), there));
                self.invoke_id = self.invoke_id.checked_add(1).unwrap_or(1);
                let delete = |remote: Remote| Message {
                    // Not that of a request, which are connection endpoints.
                    invoke_id: Some(0x1_0000 + (self.invoke_id & 0xffff)),
                    ..Message::about(op::DELETE, object::FLOW, format!("{}/{}", object::FLOW_NAME, remote.port))
                };
                Outcome { sdu: remote.map(|remote| wrap(addresses, &delete(remote))), answer: answer(op::DELETE_R) }
            }
            op::READ => Outcome { sdu: None, answer: answer(op::READ_R) },
            _ => Outcome::default(),
        }
    }

    /// What a member says about a flow, as messages here. `flow` finds one by its endpoint.
    pub(crate) fn receive<'a>(
        &mut self,
        from: &Name,
        message: &Message,
        cubes: &[Qos],
        flow: impl Fn(FlowId) -> Option<&'a Flow>,
    ) -> Option<Message> {
        let about = |op_code, value: &cdap::FlowRequest| {
            let about = Message::about(op_code, object::FLOW, object::FLOW_NAME).with_value(value);
            Message { result: message.result, ..about }
        };
        let short = |number: Option<u32>| number.and_then(|number| u16::try_from(number).ok());
        match message.op_code {
            op::CREATE if message.is_about(object::FLOW) => {
                let value: FlowRequest = message.value().ok()?;
                let connection = value.connections.first()?;
                let cep = short(connection.src_cep)?;
                let invoke_id = message.invoke_id?;
                // One that has an answer may be of a life before this one, with the same numbers.
                let same = |remote: &Remote| {
                    let is_same = |(request, before): &(FlowRequest, i32)| {
                        *before == invoke_id && request.dst_port.unwrap_or_default() == 0
                    };
                    remote.port == value.src_port && remote.request.as_ref().is_some_and(is_same)
                };
                let known = self.remotes.iter().any(|((member, _), remote)| member == from && same(remote));
                if known || value.src_ipcp != from.as_str() || self.remotes.len() >= MOST {
                    return None;
                }
                let wanted = value.policies.as_ref().and_then(|policies| policies.dtcp.as_ref()?.rtx_ctrl);
                let cube = cubes.iter().find(|cube| cube.reliable == wanted.unwrap_or_default())?;
                let ap_name = |name: &ApName| Some(cdap::ApName { ap_name: name.name()?.to_string() });
                let (src_app, dst_app) = (ap_name(&value.src_app)?, ap_name(&value.dst_app)?);
                let there = self.fresh(from);
                let src_cep = Some(there.into());
                let request = cdap::FlowRequest {
                    src_app,
                    dst_app,
                    src_port: value.src_port,
                    src_ipcp: value.src_ipcp.clone(),
                    dst_ipcp: value.dst_ipcp.clone(),
                    connections: vec![ConnId { qosid: Some(cube.id.into()), src_cep, dst_cep: None }],
                    ..cdap::FlowRequest::default()
                };
                let remote = Remote { cep, port: value.src_port, request: Some((value, invoke_id)) };
                self.remotes.insert((from.clone(), there), remote);
                Some(about(op::CREATE, &request))
            }
            op::CREATE_R => {
                let id = u16::try_from(message.invoke_id?).ok()?;
                let asked = flow(id).filter(|flow| flow.peer == *from && flow.remote_cep() == 0)?;
                let value: FlowRequest = message.value().ok()?;
                let cep = short(value.connections.first()?.dst_cep)?;
                let there = self.fresh(from);
                if message.result.is_none() {
                    let remote = Remote { cep, port: value.dst_port.unwrap_or_default(), request: None };
                    self.remotes.insert((from.clone(), there), remote);
                    self.orders.entry(id).or_default().remote = Some((cep, there));
                }
                Some(about(op::CREATE_R, &asked.answer(id, there)))
            }
            op::DELETE => {
                let port = message.obj_name.as_deref()?.strip_prefix(object::FLOW_NAME)?.strip_prefix('/')?;
                let id: FlowId = port.parse().ok()?;
                let ended = flow(id).filter(|flow| flow.peer == *from)?;
                self.remotes.remove(&(from.clone(), ended.remote_cep()));
                Some(about(op::DELETE, &ended.release(id, ended.remote_cep())))
            }
            _ => None,
        }
    }

    /// A PDU of a flow as rlite writes it.
    pub(crate) fn write(&mut self, header: Header, payload: Vec<u8>) -> (Header, Vec<u8>) {
        let order = self.orders.entry(header.src_cep).or_default();
        let header = Header { dst_cep: order.remote.map_or(header.dst_cep, |(there, _)| there), ..header };
        let Some(ack) = Ack::parse(&payload).filter(|_| header.kind != kind::DATA) else {
            let flags = if order.begun { 0 } else { RUN };
            order.begun = true;
            return (Header { flags, ..header }, payload);
        };
        let sequence = order.control;
        order.control = order.control.wrapping_add(1);
        let numbers = [0, ack.next, ack.edge.wrapping_sub(1), ack.next, 0, 0];
        let header = Header { kind: CONTROL_TYPE | ACKNOWLEDGES | GIVES_CREDIT, sequence, ..header };
        (header, numbers.into_iter().flat_map(u32::to_le_bytes).collect())
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
            let idle = order.data.is_some_and(|at| now.saturating_sub(at) >= NEW_RUN);
            let begins = header.flags & RUN != 0 && idle;
            order.data = Some(now);
            // Other flags would be those of parts of an SDU.
            let flags = header.flags & crate::pdu::CONGESTION;
            return Some((Header { flags, ..header }, payload.to_vec(), begins));
        }
        let (words, _) = payload.get(..CONTROL)?.as_chunks::<4>();
        let [_, next, rwe, ..] = words.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<_>>()[..] else {
            return None;
        };
        if header.kind & 0xf0 != CONTROL_TYPE || header.kind & (ACKNOWLEDGES | GIVES_CREDIT) == 0 {
            return None;
        }
        let edge = if header.kind & GIVES_CREDIT != 0 { rwe.wrapping_add(1) } else { next };
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

/// A message about a flow, with these numbers as ports at its source and destination.
#[cfg(test)]
pub(super) fn comparable(message: &Message, src_port: u64, dst_port: u64) -> (Option<String>, i32, String) {
    let mut request: FlowRequest = message.value().expect("a request");
    request.src_port = src_port;
    if request.dst_port != Some(0) {
        request.dst_port = Some(dst_port);
    }
    (message.obj_name.clone(), message.op_code, format!("{request:?}"))
}
