//! What the members of a DIF say to each other: the dialect of this implementation, or that of others.

use std::time::Duration;

use crate::cdap::Message;
use crate::credential::Credential;
use crate::efcp::Qos;
use crate::flows::{Flow, FlowId, Flows};
use crate::name::Name;
use crate::neighbour::{Admit, Effect, LinkCounts, Local, Mac, Neighbour};
use crate::pdu::Header;
use crate::rib::{Plain, Rib};
use crate::rlite::flows::Outcome;
use crate::rlite::objects::Announced;
use crate::{irati, rlite};

/// A DIF's dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// That of this implementation: members know a credential.
    Hopwright(Credential),
    /// rlite's, in which nobody is authenticated.
    Rlite,
    /// IRATI's, without authentication.
    Irati,
}

impl Dialect {
    /// What the members know and nobody else.
    pub(crate) fn credential(&self) -> Option<&Credential> {
        match self {
            Dialect::Hopwright(credential) => Some(credential),
            Dialect::Rlite | Dialect::Irati => None,
        }
    }
}

/// A link's other end.
#[derive(Debug)]
pub(crate) enum LinkEnd {
    Hopwright(Box<Neighbour>),
    Rlite(Box<rlite::enrolment::Neighbour>),
    Irati(Box<irati::enrolment::Neighbour>),
}

impl LinkEnd {
    /// Nobody yet.
    pub(crate) fn new(dialect: &Dialect) -> LinkEnd {
        match dialect {
            Dialect::Hopwright(_) => LinkEnd::Hopwright(Box::default()),
            Dialect::Rlite => LinkEnd::Rlite(Box::default()),
            Dialect::Irati => LinkEnd::Irati(Box::default()),
        }
    }

    /// The neighbour that is up, and its station.
    pub(crate) fn up(&self) -> Option<(&Name, Mac)> {
        match self {
            LinkEnd::Hopwright(end) => end.up(),
            LinkEnd::Rlite(end) => end.up(),
            LinkEnd::Irati(end) => end.up(),
        }
    }

    pub(crate) fn counts(&self) -> LinkCounts {
        match self {
            LinkEnd::Hopwright(end) => end.counts,
            LinkEnd::Rlite(end) => end.counts,
            LinkEnd::Irati(end) => end.counts,
        }
    }

    /// The SDU of a message. None while the neighbour is not up.
    pub(crate) fn prepare(&mut self, message: &Message) -> Option<(Mac, Vec<u8>)> {
        match self {
            LinkEnd::Hopwright(end) => end.protect(message),
            LinkEnd::Rlite(end) => end.prepare(message),
            LinkEnd::Irati(end) => end.prepare(message),
        }
    }

    /// Tries to enrol at once if the neighbour is not up.
    pub(crate) fn hurry(&mut self) {
        match self {
            LinkEnd::Hopwright(end) => end.hurry(),
            LinkEnd::Rlite(end) => end.hurry(),
            LinkEnd::Irati(end) => end.hurry(),
        }
    }

    /// When [`LinkEnd::tick`] has something to do, if nothing happens before.
    pub(crate) fn due(&self, keepalive: Duration, dead_after: Duration) -> Duration {
        match self {
            LinkEnd::Hopwright(end) => end.due(keepalive, dead_after),
            LinkEnd::Rlite(end) => end.due(keepalive, dead_after),
            LinkEnd::Irati(end) => end.due(keepalive, dead_after),
        }
    }

    /// Ends the session.
    pub(crate) fn end(&mut self, out: &mut Vec<Effect>) {
        match self {
            LinkEnd::Hopwright(end) => end.end(out),
            LinkEnd::Rlite(end) => end.end(out),
            LinkEnd::Irati(end) => end.end(out),
        }
    }

    /// What a neighbour is sent before this member stops.
    pub(crate) fn release(&mut self) -> Option<(Mac, Vec<u8>)> {
        match self {
            LinkEnd::Hopwright(_) => None,
            LinkEnd::Rlite(end) => end.release(),
            LinkEnd::Irati(end) => end.release(),
        }
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, local: &Local<'_>, now: Duration, out: &mut Vec<Effect>) {
        match self {
            LinkEnd::Hopwright(end) => end.tick(local, now, out),
            LinkEnd::Rlite(end) => end.tick(local, now, out),
            LinkEnd::Irati(end) => end.tick(local, now, out),
        }
    }

    /// Takes a management SDU that came from a station.
    pub(crate) fn receive(
        &mut self,
        local: &Local<'_>,
        from: Mac,
        sdu: &[u8],
        now: Duration,
        admit: Admit<'_>,
        out: &mut Vec<Effect>,
    ) {
        match self {
            LinkEnd::Hopwright(end) => end.receive(local, from, sdu, now, admit, out),
            LinkEnd::Rlite(end) => end.receive(local, from, sdu, now, admit, out),
            LinkEnd::Irati(end) => end.receive(local, from, sdu, now, admit, out),
        }
    }

    /// Takes an ARP packet.
    pub(crate) fn receive_arp(&mut self, local: &Local<'_>, packet: &[u8], now: Duration, out: &mut Vec<Effect>) {
        match self {
            LinkEnd::Hopwright(_) => {}
            LinkEnd::Rlite(end) => end.receive_arp(local, packet, now, out),
            LinkEnd::Irati(end) => end.receive_arp(local, packet, now, out),
        }
    }

    /// Any bytes in the place of a message, protected.
    pub(crate) fn protect_bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            LinkEnd::Hopwright(end) => end.protect_bytes(bytes),
            LinkEnd::Rlite(_) | LinkEnd::Irati(_) => None,
        }
    }
}

/// What the dialects of others need beyond the messages of this one: their state of flows, and of objects that are not complete.
#[derive(Debug)]
pub(crate) enum Exchange {
    Rlite(rlite::flows::Exchange),
    Irati(irati::flows::Exchange, irati::objects::Directory),
}

impl Exchange {
    /// None for this implementation's own dialect.
    pub(crate) fn new(dialect: &Dialect) -> Option<(Exchange, &'static Plain)> {
        match dialect {
            Dialect::Hopwright(_) => None,
            Dialect::Rlite => Some((Exchange::Rlite(Default::default()), &rlite::objects::PLAIN)),
            Dialect::Irati => Some((Exchange::Irati(Default::default(), Default::default()), &irati::objects::PLAIN)),
        }
    }

    /// A message about a flow here, to a member. `addresses`: of this member and of that one.
    pub(crate) fn send(&mut self, to: &Name, addresses: [u16; 2], message: &Message, cubes: &[Qos]) -> Outcome {
        match self {
            Exchange::Rlite(flows) => flows.send(to, addresses, message, cubes),
            Exchange::Irati(flows, _) => flows.send(to, addresses, message, cubes),
        }
    }

    /// What a member says about a flow, as messages here. `addresses`: of that member and of this one.
    pub(crate) fn receive<'a>(
        &mut self,
        (from, addresses): (&Name, [u16; 2]),
        message: &Message,
        cubes: &[Qos],
        flow: impl Fn(FlowId) -> Option<&'a Flow>,
    ) -> Option<Message> {
        match self {
            Exchange::Rlite(flows) => flows.receive(from, message, cubes, flow),
            Exchange::Irati(flows, _) => flows.receive((from, addresses), message, cubes, flow),
        }
    }

    /// Takes the management SDU that refuses the request or answer which came last, if it could not be read as one here.
    pub(crate) fn take_refusal(&mut self) -> Option<Vec<u8>> {
        match self {
            Exchange::Rlite(_) => None,
            Exchange::Irati(flows, _) => flows.take_refusal(),
        }
    }

    /// The message of a PDU to this member, and the address of the one that sent it.
    pub(crate) fn unwrap(&self, sdu: &[u8]) -> Option<(u16, Message)> {
        match self {
            Exchange::Rlite(_) => rlite::flows::unwrap(sdu),
            Exchange::Irati(..) => None,
        }
    }

    /// The message that a neighbour passes on, and the addresses that it comes from and goes to.
    pub(crate) fn passed_on(&self, message: &Message) -> Option<([u16; 2], Message)> {
        match self {
            Exchange::Rlite(_) => None,
            Exchange::Irati(..) => irati::flows::unwrap(message),
        }
    }

    /// Whether messages to members farther away go from neighbour to neighbour.
    pub(crate) fn passes_on(&self) -> bool {
        matches!(self, Exchange::Irati(..))
    }

    /// What a neighbour's message announces about objects. None if it is about none.
    pub(crate) fn announced(&mut self, message: &Message, rib: &Rib) -> Option<Vec<Announced>> {
        match self {
            Exchange::Rlite(_) => rlite::objects::read(message),
            Exchange::Irati(_, directory) => directory.read(message, rib),
        }
    }

    /// What earlier messages announced, and the RIB lacked something for.
    pub(crate) fn completed(&mut self, rib: &Rib) -> Vec<Announced> {
        match self {
            Exchange::Irati(_, directory) if directory.is_waiting() => directory.resolve(rib),
            _ => Vec::new(),
        }
    }

    /// A PDU of a flow as others write it.
    pub(crate) fn write(&mut self, header: Header, payload: Vec<u8>) -> (Header, Vec<u8>) {
        match self {
            Exchange::Rlite(flows) => flows.write(header, payload),
            Exchange::Irati(flows, _) => flows.write(header, payload),
        }
    }

    /// A PDU of a flow as it is here. The flag says whether a run of sequence numbers begins anew. None if it is none.
    pub(crate) fn read(&mut self, header: Header, payload: &[u8], now: Duration) -> Option<(Header, Vec<u8>, bool)> {
        match self {
            Exchange::Rlite(flows) => flows.read(header, payload, now),
            Exchange::Irati(flows, _) => flows.read(header, payload, now),
        }
    }

    /// Forgets flows that there are no more.
    pub(crate) fn retain(&mut self, flows: &Flows) {
        match self {
            Exchange::Rlite(exchange) => exchange.retain(flows),
            Exchange::Irati(exchange, _) => exchange.retain(flows),
        }
    }
}
