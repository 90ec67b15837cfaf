//! Flows with members that speak a dialect of others. A flow's port is its connection endpoint here. Endpoints of others are used again soon:
//! the other end of each flow has another number here, which PDUs and messages do not show.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use super::{ApName, Outcome};
use crate::cdap::{self, ConnId, Message, object, op};
use crate::efcp::{Ack, Qos};
use crate::flows::{Flow, FlowId, Flows};
use crate::name::Name;
use crate::pdu::{Header, kind};

/// Time without data after which the flag says that a sender begins a new run of sequence numbers. A PDU is sent again for 10 s, and a
/// sender that is idle begins anew after 33 s in rlite.
pub(crate) const NEW_RUN: Duration = Duration::from_secs(20);
/// Requests of others that are remembered.
pub(crate) const MOST: usize = 2048;

/// The value of a flow's object in a dialect, as a member that asks for a flow writes it.
pub(crate) trait FlowObject: Debug + Send {
    /// M_CREATE of a request. `addresses`: of this member and of the other one.
    fn request(request: &cdap::FlowRequest, cube: &Qos, here: FlowId, addresses: [u16; 2]) -> Message;

    /// M_CREATE_R, the answer to this request of a member: the flow is at `here`. The object has this name, and the flow this endpoint there.
    fn response(&mut self, object: &str, cep: u16, here: FlowId, addresses: [u16; 2]) -> Message;

    /// M_DELETE of an object, the message of this number.
    fn release(object: String, number: i32) -> Message;

    /// The management SDU of a message to a member that is no neighbour, perhaps.
    fn wrap(addresses: [u16; 2], message: &Message) -> Vec<u8>;
}

/// A flow's other end.
#[derive(Debug)]
pub(crate) struct Remote<R> {
    /// Its endpoint there.
    pub cep: u16,
    /// The name of the flow's object.
    pub object: String,
    /// The request that came from there, and its number.
    pub request: Option<(R, i32)>,
}

/// The order of PDUs of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order {
    /// The other end's endpoint there, and its number here.
    pub remote: Option<(u16, u16)>,
    /// The number of the next control PDU, and of the last one of the other end.
    pub control: u32,
    pub heard: u32,
    /// When data came last, and the number of the newest PDU.
    pub data: Option<Duration>,
    pub newest: u32,
    /// Data PDUs no longer say that a run begins.
    pub begun: bool,
    /// All before this number was acknowledged.
    pub acknowledged: u32,
}

impl Order {
    /// The number of a control PDU.
    pub(crate) fn next_control(&mut self) -> u32 {
        let number = self.control;
        self.control = number.wrapping_add(1);
        number
    }
}

/// Flows' other ends.
#[derive(Debug)]
pub(crate) struct Endpoints<R> {
    /// By member and number here.
    pub remotes: BTreeMap<(Name, u16), Remote<R>>,
    pub orders: BTreeMap<FlowId, Order>,
    /// Flows whose request was sent.
    requested: BTreeSet<FlowId>,
    /// The numbers of the last other end, and of the last release.
    last: u16,
    releases: i32,
}

impl<R> Default for Endpoints<R> {
    fn default() -> Self {
        Endpoints {
            remotes: BTreeMap::new(),
            orders: BTreeMap::new(),
            requested: BTreeSet::new(),
            last: 0,
            releases: 0,
        }
    }
}

/// A number of 16 bits.
pub(crate) fn short(number: Option<u32>) -> Option<u16> {
    number.and_then(|number| u16::try_from(number).ok())
}

/// A message about a flow here, with the result of one that came.
pub(crate) fn native(op_code: i32, of: &Message, value: &cdap::FlowRequest) -> Message {
    let about = Message::about(op_code, object::FLOW, object::FLOW_NAME).with_value(value);
    Message { result: of.result, ..about }
}

/// A control PDU here that acknowledges all before `next`, and gives credit up to `edge`.
pub(crate) fn acknowledgement(header: Header, next: u32, edge: u32) -> (Header, Vec<u8>, bool) {
    let ack = Ack { next, edge, received: 0, marked: 0, ranges: Vec::new() };
    (Header { kind: kind::ACK_FLOW, ..header }, ack.write(), false)
}

impl<R: FlowObject> Endpoints<R> {
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
        self.try_send(to, addresses, message, cubes).unwrap_or_default()
    }

    fn try_send(&mut self, to: &Name, addresses: [u16; 2], message: &Message, cubes: &[Qos]) -> Option<Outcome> {
        let request = message.value::<cdap::FlowRequest>().ok()?;
        let connection = request.connections.first()?;
        let (here, there) =
            (short(connection.src_cep).unwrap_or_default(), short(connection.dst_cep).unwrap_or_default());
        let answer =
            |op_code| Some(Message::about(op_code, object::FLOW, object::FLOW_NAME).with_value(&request.mirrored()));
        let place = (to.clone(), there);
        match message.op_code {
            op::CREATE if self.requested.insert(here) => {
                let cube = cubes.iter().find(|cube| Some(cube.id.into()) == connection.qosid)?;
                let invoke_id = Some(here.into());
                let message = Message { invoke_id, ..R::request(&request, cube, here, addresses) };
                Some(Outcome { sdu: Some(R::wrap(addresses, &message)), answer: None })
            }
            op::CREATE_R => {
                let Remote { cep, object, request: asked } = self.remotes.get_mut(&place)?;
                let (asked, invoke_id) = asked.as_mut()?;
                let refused = message.result.is_some();
                let response = Message {
                    invoke_id: Some(*invoke_id),
                    result: message.result,
                    result_reason: refused.then(|| "refused".into()),
                    ..asked.response(object, *cep, here, addresses)
                };
                match refused {
                    false => self.orders.entry(here).or_default().remote = Some((*cep, there)),
                    true => drop(self.remotes.remove(&place)),
                }
                Some(Outcome { sdu: Some(R::wrap(addresses, &response)), answer: None })
            }
            op::DELETE => {
                self.releases = self.releases.checked_add(1).unwrap_or(1);
                let remote = self.remotes.remove(&place);
                let sdu = remote.map(|remote| R::wrap(addresses, &R::release(remote.object, self.releases)));
                Some(Outcome { sdu, answer: answer(op::DELETE_R) })
            }
            op::READ => Some(Outcome { sdu: None, answer: answer(op::READ_R) }),
            _ => None,
        }
    }

    /// A member's request for a flow of a cube, as a message here. `applications`: the one that asks, at this port, and the one that it wants.
    pub(crate) fn requested(
        &mut self,
        from: &Name,
        message: &Message,
        applications: [&ApName; 2],
        (port, cube): (u64, &Qos),
        remote: Remote<R>,
    ) -> Option<Message> {
        let ap_name = |name: &ApName| Some(cdap::ApName { ap_name: name.name()?.to_string() });
        let (src_app, dst_app) = (ap_name(applications[0])?, ap_name(applications[1])?);
        let there = self.fresh(from);
        let request = cdap::FlowRequest {
            src_app,
            dst_app,
            src_port: port,
            src_ipcp: from.to_string(),
            connections: vec![ConnId { qosid: Some(cube.id.into()), src_cep: Some(there.into()), dst_cep: None }],
            ..cdap::FlowRequest::default()
        };
        self.remotes.insert((from.clone(), there), remote);
        Some(native(op::CREATE, message, &request))
    }

    /// A member's answer about a flow that was asked for, as a message here. It has an other end if it was accepted.
    pub(crate) fn answered(
        &mut self,
        from: &Name,
        message: &Message,
        (id, asked): (FlowId, &Flow),
        remote: Option<Remote<R>>,
    ) -> Message {
        let there = self.fresh(from);
        if let Some(remote) = remote {
            self.orders.entry(id).or_default().remote = Some((remote.cep, there));
            self.remotes.insert((from.clone(), there), remote);
        }
        native(op::CREATE_R, message, &asked.answer(id, there))
    }

    /// The order of a flow whose PDU is sent, and the PDU's header with the endpoint there.
    pub(crate) fn sent(&mut self, header: Header) -> (&mut Order, Header) {
        let order = self.orders.entry(header.src_cep).or_default();
        let dst_cep = order.remote.map_or(header.dst_cep, |(there, _)| there);
        (order, Header { dst_cep, ..header })
    }

    /// The order of a flow whose PDU has come, and the PDU's header with the number here. None if it is of another endpoint.
    pub(crate) fn received(&mut self, header: Header) -> Option<(&mut Order, Header)> {
        let order = self.orders.entry(header.dst_cep).or_default();
        let src_cep = match order.remote {
            Some((there, here)) if there == header.src_cep => here,
            Some(_) => return None,
            None => header.src_cep,
        };
        Some((order, Header { src_cep, ..header }))
    }

    /// Forgets flows that there are no more.
    pub(crate) fn retain(&mut self, flows: &Flows) {
        self.orders.retain(|id, _| flows.get(*id).is_some());
        self.requested.retain(|id| flows.get(*id).is_some());
        if self.remotes.len() > flows.iter().count() {
            let there: BTreeSet<_> = flows.iter().map(|(_, flow)| (flow.peer.clone(), flow.remote_cep())).collect();
            self.remotes.retain(|place, _| there.contains(place));
        }
    }
}
