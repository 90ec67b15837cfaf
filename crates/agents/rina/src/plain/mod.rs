//! What the dialects of others, [`crate::rlite`] and [`crate::irati`], have in common. Nobody is authenticated in them.
//!
//! | module | owns |
//! | --- | --- |
//! | `arp` | how a name finds a station: the shim DIF over Ethernet |
//! | `link` | a link's other end: station, session, keep-alive, and the frame of an enrollment |
//! | `flows` | endpoints of flows there, their numbers here, and messages about them |
//! | `wire` | the bytes of messages |

pub(crate) mod arp;
mod flows;
mod link;
mod wire;

use std::fmt::Debug;
use std::time::Duration;

use crate::cdap::Message;
use crate::efcp::Qos;
use crate::flows::{Flow, FlowId, Flows};
use crate::name::Name;
use crate::pdu::Header;
use crate::rib::{Announced, Rib};
pub(crate) use flows::{Endpoints, FlowObject, MOST, NEW_RUN, Order, Remote, acknowledgement, native, short};
pub(crate) use link::{Enrolment, FAILED, PlainLink};
pub(crate) use wire::Wire;

/// `APName` of rlite, and `applicationProcessNamingInfo_t` of IRATI.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ApName {
    #[prost(string, required, tag = "1")]
    pub ap_name: String,
    #[prost(string, optional, tag = "2")]
    pub ap_instance: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub ae_name: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub ae_instance: Option<String>,
}

impl ApName {
    /// The parts of a name, which `|` separates.
    pub(crate) fn new(name: &str) -> ApName {
        let mut parts = name.splitn(4, '|').map(String::from);
        let mut next = || parts.next().unwrap_or_default();
        let ap_name = next();
        ApName { ap_name, ap_instance: Some(next()), ae_name: Some(next()), ae_instance: Some(next()) }
    }

    /// The name, without empty parts behind the last one that is not empty.
    pub(crate) fn text(&self) -> String {
        let more =
            [&self.ap_instance, &self.ae_name, &self.ae_instance].map(|part| part.as_deref().unwrap_or_default());
        let parts = [self.ap_name.as_str(), more[0], more[1], more[2]];
        let last = parts.iter().rposition(|part| !part.is_empty());
        parts[..last.map_or(0, |last| last + 1)].join("|")
    }

    /// The text of a name's parts. None if all are empty.
    pub(crate) fn text_of(
        ap_name: Option<String>,
        ap_instance: Option<String>,
        ae_name: Option<String>,
        ae_instance: Option<String>,
    ) -> Option<String> {
        let text = ApName { ap_name: ap_name.unwrap_or_default(), ap_instance, ae_name, ae_instance }.text();
        Some(text).filter(|text| !text.is_empty())
    }

    /// The same as a name here. None if it is none.
    pub(crate) fn name(&self) -> Option<Name> {
        self.text().parse().ok()
    }
}

/// What becomes of a message about a flow.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// The management SDU to send.
    pub sdu: Option<Vec<u8>>,
    /// What the other end would answer, if it could.
    pub answer: Option<Message>,
}

/// What a DIF in a dialect of others needs beyond the messages here: the state of its flows, and of objects that are not complete.
pub(crate) trait Exchange: Debug + Send {
    /// A message about a flow here, to a member. `addresses`: of this member and of that one.
    fn send(&mut self, to: &Name, addresses: [u16; 2], message: &Message, cubes: &[Qos]) -> Outcome;

    /// What a member says about a flow, as a message here. `addresses`: of that member and of this one; `flow` finds one by its endpoint.
    fn receive<'a>(
        &mut self,
        from: (&Name, [u16; 2]),
        message: &Message,
        cubes: &[Qos],
        flow: &dyn Fn(FlowId) -> Option<&'a Flow>,
    ) -> Option<Message>;

    /// Takes the management SDU that refuses the request or answer which came last, if it could not be read as one here.
    fn take_refusal(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// The message of a PDU to this member, and the address of the one that sent it.
    fn unwrap(&self, _sdu: &[u8]) -> Option<(u16, Message)> {
        None
    }

    /// The message that a neighbour passes on, and the addresses that it comes from and goes to.
    fn passed_on(&self, _message: &Message) -> Option<([u16; 2], Message)> {
        None
    }

    /// Whether messages to members farther away go from neighbour to neighbour.
    fn passes_on(&self) -> bool {
        false
    }

    /// What a neighbour's message announces about objects. None if it is about none.
    fn announced(&mut self, message: &Message, rib: &Rib) -> Option<Vec<Announced>>;

    /// What earlier messages announced, and the RIB lacked something for.
    fn completed(&mut self, _rib: &Rib) -> Vec<Announced> {
        Vec::new()
    }

    /// A PDU of a flow as others write it.
    fn write(&mut self, header: Header, payload: Vec<u8>) -> (Header, Vec<u8>);

    /// A PDU of a flow as it is here. The flag says whether a run of sequence numbers begins anew. None if it is none.
    fn read(&mut self, header: Header, payload: &[u8], now: Duration) -> Option<(Header, Vec<u8>, bool)>;

    /// Forgets flows that there are no more.
    fn retain(&mut self, flows: &Flows);
}
