//! What the members of a DIF say to each other: the dialect of this implementation, or that of others.

use std::time::Duration;

use crate::cdap::Message;
use crate::credential::Credential;
use crate::name::Name;
use crate::neighbour::{Admit, Effect, LinkCounts, Local, Mac, Neighbour};
use crate::rlite::enrolment;

/// A DIF's dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// That of this implementation: members know a credential.
    Hopwright(Credential),
    /// rlite's, in which nobody is authenticated.
    Rlite,
}

impl Dialect {
    /// What the members know and nobody else.
    pub(crate) fn credential(&self) -> Option<&Credential> {
        match self {
            Dialect::Hopwright(credential) => Some(credential),
            Dialect::Rlite => None,
        }
    }
}

/// A link's other end.
#[derive(Debug)]
pub(crate) enum LinkEnd {
    Hopwright(Box<Neighbour>),
    Rlite(Box<enrolment::Neighbour>),
}

impl LinkEnd {
    /// Nobody yet.
    pub(crate) fn new(dialect: &Dialect) -> LinkEnd {
        match dialect {
            Dialect::Hopwright(_) => LinkEnd::Hopwright(Box::default()),
            Dialect::Rlite => LinkEnd::Rlite(Box::default()),
        }
    }

    /// The neighbour that is up, and its station.
    pub(crate) fn up(&self) -> Option<(&Name, Mac)> {
        match self {
            LinkEnd::Hopwright(end) => end.up(),
            LinkEnd::Rlite(end) => end.up(),
        }
    }

    pub(crate) fn counts(&self) -> LinkCounts {
        match self {
            LinkEnd::Hopwright(end) => end.counts,
            LinkEnd::Rlite(end) => end.counts,
        }
    }

    /// The SDU of a message. None while the neighbour is not up.
    pub(crate) fn prepare(&mut self, message: &Message) -> Option<(Mac, Vec<u8>)> {
        match self {
            LinkEnd::Hopwright(end) => end.protect(message),
            LinkEnd::Rlite(end) => end.prepare(message),
        }
    }

    /// Tries to enrol at once if the neighbour is not up.
    pub(crate) fn hurry(&mut self) {
        match self {
            LinkEnd::Hopwright(end) => end.hurry(),
            LinkEnd::Rlite(end) => end.hurry(),
        }
    }

    /// When [`LinkEnd::tick`] has something to do, if nothing happens before.
    pub(crate) fn due(&self, keepalive: Duration, dead_after: Duration) -> Duration {
        match self {
            LinkEnd::Hopwright(end) => end.due(keepalive, dead_after),
            LinkEnd::Rlite(end) => end.due(keepalive, dead_after),
        }
    }

    /// Ends the session.
    pub(crate) fn end(&mut self, out: &mut Vec<Effect>) {
        match self {
            LinkEnd::Hopwright(end) => end.end(out),
            LinkEnd::Rlite(end) => end.end(out),
        }
    }

    /// What a neighbour is sent before this member stops.
    pub(crate) fn release(&mut self) -> Option<(Mac, Vec<u8>)> {
        match self {
            LinkEnd::Hopwright(_) => None,
            LinkEnd::Rlite(end) => end.release(),
        }
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, local: &Local<'_>, now: Duration, out: &mut Vec<Effect>) {
        match self {
            LinkEnd::Hopwright(end) => end.tick(local, now, out),
            LinkEnd::Rlite(end) => end.tick(local, now, out),
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
        }
    }

    /// Takes an ARP packet.
    pub(crate) fn receive_arp(&mut self, local: &Local<'_>, packet: &[u8], now: Duration, out: &mut Vec<Effect>) {
        if let LinkEnd::Rlite(end) = self {
            end.receive_arp(local, packet, now, out);
        }
    }

    /// Any bytes in the place of a message, protected.
    pub(crate) fn protect_bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            LinkEnd::Hopwright(end) => end.protect_bytes(bytes),
            LinkEnd::Rlite(_) => None,
        }
    }
}
