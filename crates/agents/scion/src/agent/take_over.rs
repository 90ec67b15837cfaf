//! A router that starts takes over from a running one; see [`crate::hand_over`].

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::PollSet;
use hopwright_host::hand_over::Door;

use super::{Agent, AgentError, Options, Setup};
use crate::hand_over::message::Message;
use crate::hand_over::{Conversation, HandOverError, Offer, open_door};
use crate::underlay::{Underlay, next_hop};

/// How long a predecessor may take to close its devices.
const CLOSING_TIME: Duration = Duration::from_secs(10);

/// What a starting router has of the running one, if it takes over from one.
#[derive(Default)]
pub(super) struct Heir {
    talk: Option<Conversation>,
    offer: Offer,
}

impl Heir {
    /// Connects to the running router, if `options` say that this one takes over.
    pub(super) fn connect(setup: &Setup, options: &Options) -> Result<Heir, AgentError> {
        let Some(path) = options.control.as_ref().filter(|_| options.take_over) else { return Ok(Heir::default()) };
        let (talk, offer) = Conversation::begin(path, &setup.config.general.id, setup.links.ia.0)?;
        tracing::info!(
            event = "taking-over",
            sockets = offer.sockets.len(),
            devices = offer.devices.len(),
            "preparing to take over from the running router"
        );
        Ok(Heir { talk: Some(talk), offer })
    }

    /// Gives the UDP sockets and devices of the running router to this one.
    pub(super) fn bequeath(&mut self, underlay: &Underlay) {
        if self.talk.is_some() {
            let Offer { sockets, devices, .. } = &mut self.offer;
            underlay.inherit(std::mem::take(sockets), std::mem::take(devices));
        }
    }

    /// The running router's limit of the service manager.
    pub(super) fn watchdog(&self) -> Option<Duration> {
        self.offer.watchdog
    }

    /// HTTP servers' sockets.
    pub(super) fn take_listeners(&mut self) -> Vec<(String, OwnedFd)> {
        std::mem::take(&mut self.offer.listeners)
    }

    /// The socket that a successor of this router will connect to.
    pub(super) fn door(&mut self, path: Option<&Path>) -> Result<Option<Door>, AgentError> {
        Ok(match (path, self.offer.door.take()) {
            (Some(path), Some(socket)) => Some(Door::inherited(socket, path)),
            (Some(path), None) => Some(open_door(path)?),
            (None, _) => None,
        })
    }

    /// Has the running router stop, and takes over where it has. If that fails the running router goes on.
    pub(super) fn take_over(&mut self, agent: &mut Agent, door: &mut Option<Door>) -> Result<(), AgentError> {
        let Some(talk) = &self.talk else { return Ok(()) };
        let stopped = talk.have_it_stop()?;
        agent.underlay.begin_at(&stopped.positions).map_err(|device| {
            tracing::error!(event = "take-over-failed", device, "a device's sockets are not those that were offered");
            HandOverError::Unsound("a device's sockets are not those that were offered")
        })?;
        agent.bfd.resume(&stopped.sessions);
        for (target, ..) in next_hop::link_ends(&agent.setup.links) {
            agent.program_target(target)?;
        }
        talk.send(&Message::Taken)?;
        agent.underlay.take_charge();
        door.iter_mut().for_each(Door::own);
        Ok(())
    }

    /// What is left to do after the take-over.
    pub(super) fn into_rest(self) -> Option<Rest> {
        Some(Rest { talk: self.talk?, since: Instant::now() })
    }
}

/// A predecessor that closes what it has. Then devices can be opened whose sockets could not be taken over.
pub(super) struct Rest {
    talk: Conversation,
    since: Instant,
}

impl Rest {
    /// Adds the events to wait for.
    pub(super) fn add_to(&self, poll: &mut PollSet) {
        poll.add(self.talk.channel().as_raw_fd());
    }

    /// Opens what the predecessor has closed, if it has. Returns whether that is done.
    pub(super) fn finish(&self, agent: &mut Agent) -> Result<bool, AgentError> {
        if !self.talk.has_ended() && self.since.elapsed() < CLOSING_TIME {
            return Ok(false);
        }
        agent.underlay.predecessor_has_gone();
        agent.follow_devices(true)?;
        agent.underlay.forget_predecessor();
        agent.log_link_ports();
        Ok(true)
    }
}
