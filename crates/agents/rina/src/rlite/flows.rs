//! Flows with members that run rlite: its messages about them (`user/uipcps/uipcp-normal-flow-alloc.cpp`), which travel in an object of
//! their own, and its control PDUs (`kernel/normal.c`), as those of [`crate::flows`] and back.
//!
//! rlite does not repeat requests, nor answer a release, nor tell how much was delivered: a flow that is released ends when all that was sent
//! is acknowledged. Its endpoints begin with 0.

use std::time::Duration;

use super::messages::{decode, encode};
use super::objects::{self, name};
use crate::cdap::{self, ConnId, Message, object, op};
use crate::efcp::{Ack, Qos};
use crate::flows::{Flow, FlowId, Flows};
use crate::name::Name;
use crate::pdu::{Header, RUN, kind};
use crate::plain::{
    self, ApName, Endpoints, FlowObject, MOST, NEW_RUN, Outcome, Remote, acknowledgement, native, short,
};
use crate::rib::{Announced, Rib};

/// Bytes behind the header of a control PDU.
const CONTROL: usize = 24;
/// Types of control PDUs: these bits say that one acknowledges, and that it gives credit.
const CONTROL_TYPE: u8 = 0xc0;
const ACKNOWLEDGES: u8 = 0x04;
const GIVES_CREDIT: u8 = 0x08;

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
pub(super) struct FlowRequest {
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

fn object_name(port: u64) -> String {
    format!("{}/{port}", object::FLOW_NAME)
}

impl FlowObject for FlowRequest {
    fn request(request: &cdap::FlowRequest, cube: &Qos, here: FlowId, _: [u16; 2]) -> Message {
        let (qos, policies) = policies(cube);
        let connections = request.connections.iter().take(1);
        let value = FlowRequest {
            src_app: ApName::new(&request.src_app.ap_name),
            dst_app: ApName::new(&request.dst_app.ap_name),
            src_port: here.into(),
            dst_port: Some(0),
            src_ipcp: request.src_ipcp.clone(),
            dst_ipcp: request.dst_ipcp.clone(),
            connections: connections.map(|connection| ConnId { dst_cep: Some(0), ..*connection }).collect(),
            cur_conn_idx: Some(0),
            state: Some(1),
            qos: Some(qos),
            policies: Some(policies),
            max_create_flow_retries: Some(3),
            create_flow_retries: Some(0),
            hop_cnt: Some(0),
        };
        Message::about(op::CREATE, object::FLOW, object::FLOW_NAME).with_value(&value)
    }

    fn response(&mut self, _: &str, _: u16, here: FlowId, _: [u16; 2]) -> Message {
        self.dst_port = Some(here.into());
        if let Some(connection) = self.connections.first_mut() {
            connection.dst_cep = Some(here.into());
        }
        Message::about(op::CREATE_R, object::FLOW, object::FLOW_NAME).with_value(self)
    }

    fn release(object: String, number: i32) -> Message {
        // Not the number of a request, which are connection endpoints.
        let invoke_id = Some(0x1_0000 + (number & 0xffff));
        Message { invoke_id, ..Message::about(op::DELETE, object::FLOW, object) }
    }

    fn wrap(addresses: [u16; 2], message: &Message) -> Vec<u8> {
        let [src, dst] = addresses.map(|address| Some(i32::from(address)));
        let data = Data { src_addr: src, dst_addr: dst, cdap_msg: Some(encode(message, false)) };
        encode(&Message::about(op::WRITE, name::DATA, name::DATA_NAME).with_value(&data), false)
    }
}

/// The message of an SDU, and the address of the member that sent it.
pub(crate) fn unwrap(sdu: &[u8]) -> Option<(u16, Message)> {
    let outer = decode(sdu)?;
    if !outer.is_about(name::DATA) || outer.obj_name.as_deref() != Some(name::DATA_NAME) {
        return None;
    }
    let data: Data = outer.value().ok()?;
    Some((u16::try_from(data.src_addr?).ok()?, decode(data.cdap_msg.as_deref()?)?))
}

/// What rlite's messages about flows need that those here do not have.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    endpoints: Endpoints<FlowRequest>,
}

impl Exchange {
    /// A member's request for a flow. None if it is known, or nothing here can do what it wants.
    fn requested(&mut self, from: &Name, message: &Message, cubes: &[Qos]) -> Option<Message> {
        let value: FlowRequest = message.value().ok()?;
        let (cep, invoke_id) = (short(value.connections.first()?.src_cep)?, message.invoke_id?);
        let object = object_name(value.src_port);
        // One that has an answer may be of a life before this one, with the same numbers.
        let same = |remote: &Remote<FlowRequest>| {
            let is_same = |(request, before): &(FlowRequest, i32)| {
                *before == invoke_id && request.dst_port.unwrap_or_default() == 0
            };
            remote.object == object && remote.request.as_ref().is_some_and(is_same)
        };
        let remotes = &self.endpoints.remotes;
        let known = remotes.iter().any(|((member, _), remote)| member == from && same(remote));
        if known || value.src_ipcp != from.as_str() || remotes.len() >= MOST {
            return None;
        }
        let wanted = value.policies.as_ref().and_then(|policies| policies.dtcp.as_ref()?.rtx_ctrl);
        let cube = cubes.iter().find(|cube| cube.reliable == wanted.unwrap_or_default())?;
        let applications = [&value.src_app.clone(), &value.dst_app.clone()];
        let port = value.src_port;
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
        (from, _): (&Name, [u16; 2]),
        message: &Message,
        cubes: &[Qos],
        flow: &dyn Fn(FlowId) -> Option<&'a Flow>,
    ) -> Option<Message> {
        match message.op_code {
            op::CREATE if message.is_about(object::FLOW) => self.requested(from, message, cubes),
            op::CREATE_R => {
                let id = u16::try_from(message.invoke_id?).ok()?;
                let asked = flow(id).filter(|flow| flow.peer == *from && flow.remote_cep() == 0)?;
                let value: FlowRequest = message.value().ok()?;
                let cep = short(value.connections.first()?.dst_cep)?;
                let object = object_name(value.dst_port.unwrap_or_default());
                let remote = message.result.is_none().then_some(Remote { cep, object, request: None });
                Some(self.endpoints.answered(from, message, (id, asked), remote))
            }
            op::DELETE => {
                let port = message.obj_name.as_deref()?.strip_prefix(object::FLOW_NAME)?.strip_prefix('/')?;
                let id: FlowId = port.parse().ok()?;
                let ended = flow(id).filter(|flow| flow.peer == *from)?;
                self.endpoints.remotes.remove(&(from.clone(), ended.remote_cep()));
                Some(native(op::DELETE, message, &ended.release(id, ended.remote_cep())))
            }
            _ => None,
        }
    }

    fn unwrap(&self, sdu: &[u8]) -> Option<(u16, Message)> {
        unwrap(sdu)
    }

    fn announced(&mut self, message: &Message, _: &Rib) -> Option<Vec<Announced>> {
        objects::read(message)
    }

    fn write(&mut self, header: Header, payload: Vec<u8>) -> (Header, Vec<u8>) {
        let (order, header) = self.endpoints.sent(header);
        let Some(ack) = Ack::parse(&payload).filter(|_| header.kind != kind::DATA) else {
            // When the first data PDU is sent again it has no flag: rlite would deliver it twice.
            let flags = if order.begun { 0 } else { RUN };
            order.begun = true;
            return (Header { flags, ..header }, payload);
        };
        let numbers = [0, ack.next, ack.edge.wrapping_sub(1), ack.next, 0, 0];
        let (kind, sequence) = (CONTROL_TYPE | ACKNOWLEDGES | GIVES_CREDIT, order.next_control());
        (Header { kind, sequence, ..header }, numbers.into_iter().flat_map(u32::to_le_bytes).collect())
    }

    fn read(&mut self, header: Header, payload: &[u8], now: Duration) -> Option<(Header, Vec<u8>, bool)> {
        let (order, header) = self.endpoints.received(header)?;
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
        Some(acknowledgement(header, next, edge))
    }

    fn retain(&mut self, flows: &Flows) {
        self.endpoints.retain(flows);
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
