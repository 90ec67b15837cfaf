//! CDAP messages about flows.

use super::{Flow, FlowId};
use crate::cdap::{ApName, ConnId, FlowRequest, Message, object};
use crate::name::Name;
use crate::pdu::Header;

/// What is to be sent to another member.
#[derive(Debug, PartialEq)]
pub(crate) enum Outgoing {
    Management(Name, Message),
    /// A PDU; its header lacks the addresses.
    Data(Name, Header, Vec<u8>, u8),
}

impl Outgoing {
    /// The member.
    pub(crate) fn to(&self) -> &Name {
        match self {
            Outgoing::Management(to, _) | Outgoing::Data(to, ..) => to,
        }
    }
}

/// Results of messages about flows.
pub(super) mod result {
    pub(crate) const DONE: i32 = 0;
    pub(crate) const REFUSED: i32 = -1;
    /// Too many flows or requests.
    pub(crate) const FULL: i32 = -2;
    pub(crate) const NO_APPLICATION: i32 = -3;
    /// There is no such flow.
    pub(crate) const UNKNOWN: i32 = -4;
    /// One of the ends wants secrecy, and the other does not.
    pub(crate) const SECRECY: i32 = -6;
    /// In M_DELETE: SDUs may be missing.
    pub(crate) const GAVE_UP: i32 = -5;
}

/// SDUs that an end's application has sent, and those of the other end that it has or will read.
pub(super) type Counts = (u64, u64);

/// What a message about a flow says.
#[derive(Debug)]
pub(super) struct Notice {
    /// Endpoints at the receiver of the message and at its sender; 0: not known.
    pub here: FlowId,
    pub there: FlowId,
    /// The applications at the message's sender and receiver.
    pub from: Option<Name>,
    pub to: Option<Name>,
    pub qos_id: u16,
    pub result: i32,
    pub sent: u64,
    pub pdus: u64,
    pub delivered: u64,
    pub public_key: Option<Vec<u8>>,
    request: FlowRequest,
    invoke_id: Option<i32>,
}

impl Notice {
    pub(super) fn read(message: &Message) -> Option<Notice> {
        let request: FlowRequest = message.value().ok()?;
        let connection = request.connections.first()?;
        let number = |number: Option<u32>| u16::try_from(number.unwrap_or_default()).ok();
        Some(Notice {
            here: number(connection.dst_cep)?,
            there: number(connection.src_cep)?,
            from: request.src_app.ap_name.parse().ok(),
            to: request.dst_app.ap_name.parse().ok(),
            qos_id: number(connection.qosid)?,
            result: message.result.unwrap_or_default(),
            sent: request.sent.unwrap_or_default(),
            pdus: request.pdus.unwrap_or_default(),
            delivered: request.delivered.unwrap_or_default(),
            public_key: request.public_key.clone(),
            invoke_id: message.invoke_id,
            request,
        })
    }

    /// An answer about a flow that is not there.
    pub(super) fn answer(&self, own: &Name, op_code: i32, result: i32, counts: Option<Counts>) -> Message {
        let value = FlowRequest {
            src_app: self.request.dst_app.clone(),
            dst_app: self.request.src_app.clone(),
            src_port: self.here.into(),
            dst_port: None,
            src_ipcp: own.to_string(),
            dst_ipcp: self.request.src_ipcp.clone(),
            connections: vec![ConnId {
                qosid: Some(self.qos_id.into()),
                src_cep: Some(self.here.into()),
                dst_cep: Some(self.there.into()),
            }],
            sent: counts.map(|(sent, _)| sent),
            delivered: counts.map(|(_, delivered)| delivered),
            pdus: None,
            public_key: None,
        };
        Message { invoke_id: self.invoke_id, ..message(own, self.here, op_code, result, &value) }
    }
}

fn message(own: &Name, id: FlowId, op_code: i32, result: i32, value: &FlowRequest) -> Message {
    Message {
        invoke_id: Some(id.into()),
        result: (result != result::DONE).then_some(result),
        ..Message::about(op_code, object::FLOW, format!("{}/{own}/{id}", object::FLOW_NAME)).with_value(value)
    }
}

impl Flow {
    /// The peer's answer to this flow's request, in dialects that say less. The flow's endpoint is `here`, the peer's `there`.
    pub(crate) fn answer(&self, here: FlowId, there: u16) -> FlowRequest {
        FlowRequest {
            src_app: ApName { ap_name: self.remote.to_string() },
            dst_app: ApName { ap_name: self.local.to_string() },
            connections: vec![ConnId {
                qosid: Some(self.qos.id.into()),
                src_cep: Some(there.into()),
                dst_cep: Some(here.into()),
            }],
            ..FlowRequest::default()
        }
    }

    /// The peer's release of this flow, in dialects that do not say how much it has sent. Of SDUs, what has come is all that is known; of PDUs,
    /// more may be on their way.
    pub(crate) fn release(&self, here: FlowId, there: u16) -> FlowRequest {
        FlowRequest {
            connections: vec![ConnId { qosid: None, src_cep: Some(there.into()), dst_cep: Some(here.into()) }],
            sent: Some(self.receiver.complete()),
            pdus: Some(u64::MAX),
            delivered: Some(self.sender.delivered()),
            ..FlowRequest::default()
        }
    }
}

/// A message about a flow.
pub(super) fn about(own: &Name, id: FlowId, flow: &Flow, op_code: i32, result: i32) -> Message {
    let ap = |name: &Name| ApName { ap_name: name.to_string() };
    let value = FlowRequest {
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
        sent: Some(flow.sender.pushed()),
        delivered: Some(flow.delivered()),
        pdus: Some(flow.sender.next()),
        public_key: flow.secrecy.public().map(<[u8]>::to_vec),
    };
    message(own, id, op_code, result, &value)
}
