//! A flow and its state.

use std::time::Duration;

use super::secrecy::Secrecy;
use super::{AGAIN, ANSWER, End, FlowId, IDLE, UNREACHABLE};
use crate::agreement::KeyPair;
use crate::credential::Life;
use crate::efcp::Qos;
use crate::efcp::receiver::Receiver;
use crate::efcp::sender::Sender;
use crate::name::Name;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// M_CREATE was sent this many times.
    Requesting(u32),
    /// The application has not answered.
    Unanswered,
    Open,
    /// The application has ended it; what it sent is under way.
    Closing,
    /// All that the application sent is acknowledged. M_DELETE was sent this many times.
    Releasing(u32),
    /// It is over; what has come waits for the application. Until this time more may come.
    Draining(End, Option<Duration>),
}

/// How much of its data a flow hides.
#[derive(Debug)]
pub(super) enum Hiding {
    /// Nothing.
    None,
    /// All, as soon as the other end's public key is known.
    Agreed(Box<KeyPair>),
    /// All.
    Keyed(Box<Secrecy>),
}

impl Hiding {
    /// This end's public key.
    pub(super) fn public(&self) -> Option<&[u8]> {
        match self {
            Hiding::None => None,
            Hiding::Agreed(own) => Some(own.public()),
            Hiding::Keyed(secrecy) => Some(secrecy.public()),
        }
    }

    /// Takes the other end's public key, if it has one. `requests`: this end sent M_CREATE. False if the ends do not agree.
    pub(super) fn agree(&mut self, other: Option<&[u8]>, requests: bool) -> bool {
        match (std::mem::replace(self, Hiding::None), other) {
            (Hiding::None, None) => true,
            (Hiding::Agreed(own), Some(other)) => match Secrecy::new(*own, other, requests) {
                Some(secrecy) => {
                    *self = Hiding::Keyed(Box::new(secrecy));
                    true
                }
                None => false,
            },
            _ => false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Flow {
    pub(super) state: State,
    /// Of the last request or release, or of the state's beginning.
    pub(super) since: Duration,
    pub local: Name,
    pub remote: Name,
    pub peer: Name,
    /// The peer's life that the flow is with.
    pub(super) life: Life,
    /// 0: not known yet.
    pub(super) remote_cep: FlowId,
    pub qos: Qos,
    pub(super) secrecy: Hiding,
    pub sender: Sender,
    pub receiver: Receiver,
    /// No application reads any more.
    pub(super) abandoned: bool,
    /// Since when the peer is unreachable.
    pub(super) lost: Option<Duration>,
    /// When a sign of the peer came last, and when it is asked for one.
    pub(super) heard: Duration,
    pub(super) question: Duration,
    /// PDUs that the peer says it has sent.
    pub(super) announced: u64,
}

impl Flow {
    pub(super) fn new(
        state: State,
        names: [Name; 3],
        life: Life,
        remote_cep: FlowId,
        qos: &Qos,
        now: Duration,
    ) -> Flow {
        let [local, remote, peer] = names;
        Flow {
            state,
            since: now,
            local,
            remote,
            peer,
            life,
            remote_cep,
            qos: qos.clone(),
            secrecy: Hiding::None,
            sender: Sender::new(qos),
            receiver: Receiver::new(qos),
            abandoned: false,
            lost: None,
            heard: now,
            question: now + IDLE,
            announced: 0,
        }
    }

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
            State::Closing | State::Releasing(_) => "closing",
            State::Draining(..) => "draining",
        }
    }

    /// Whether its PDUs are sent.
    pub(super) fn transfers(&self) -> bool {
        matches!(self.state, State::Open | State::Closing)
    }

    /// SDUs that the application has, or will read.
    pub(super) fn delivered(&self) -> u64 {
        if self.abandoned { self.receiver.taken() } else { self.receiver.complete() }
    }

    pub(super) fn hear(&mut self, now: Duration) {
        (self.heard, self.question) = (now, now + IDLE);
    }

    pub(super) fn is_with(&self, peer: &Name, life: &Life, remote_cep: FlowId) -> bool {
        self.peer == *peer && self.life == *life && self.remote_cep == remote_cep
    }

    /// Whether all has been read, and nothing more comes.
    pub(super) fn is_drained(&self, now: Duration) -> bool {
        let State::Draining(_, until) = self.state else { return false };
        let complete = until.is_none_or(|until| now >= until) || self.receiver.next() >= self.announced;
        complete && !self.receiver.has_ready()
    }

    pub(super) fn due(&self) -> Option<Duration> {
        match self.state {
            State::Requesting(_) | State::Releasing(_) => Some(self.since + AGAIN),
            State::Unanswered => Some(self.since + ANSWER),
            State::Open | State::Closing => {
                let lost = self.lost.map(|since| since + UNREACHABLE);
                let timers = [Some(self.question), lost, self.sender.due()];
                timers.into_iter().flatten().min()
            }
            State::Draining(_, until) => until.filter(|_| !self.receiver.has_ready()),
        }
    }
}
