//! A router that starts takes over from a running one; see [`crate::hand_over`].
//!
//! Between the running router's stop and this one's start, packets wait. Everything that takes time is therefore done before:
//! tables, also the state of links as BFD has it, ports and the workers' threads. What is left is to compare BFD sessions, to say
//! where to read on, and to wake the workers.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::{self, PollSet};
use hopwright_host::hand_over::Door;

use super::hand_over::Workers;
use super::{Agent, AgentError, Options, Setup};
use crate::bfd::SavedSession;
use crate::hand_over::message::Message;
use crate::hand_over::{Conversation, HandOverError, Offer, open_door};
use crate::underlay::{Underlay, next_hop};

/// How long a predecessor may take to close its devices.
const CLOSING_TIME: Duration = Duration::from_secs(10);
/// How often a router tries to take over if it is too late, as on a busy machine, and the pause before the next attempt. Meanwhile
/// the running one's BFD packets reassure the other ends.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// What a starting router has of the running one, if it takes over from one.
#[derive(Default)]
pub(super) struct Heir {
    talk: Option<Conversation>,
    /// Where the running router is reached.
    path: PathBuf,
    offer: Offer,
    /// The running router's sockets; see [`Offer::identity`].
    identity: Vec<u64>,
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
        let identity = offer.identity().map_err(HandOverError::from)?;
        Ok(Heir { talk: Some(talk), path: path.clone(), offer, identity })
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

    /// Has the workers run, and starts BFD. If this router takes over from a running one, that one stops first. If that fails the running
    /// router goes on.
    pub(super) fn start(
        &mut self,
        agent: &mut Agent,
        workers: &Workers,
        door: &mut Option<Door>,
    ) -> Result<(), AgentError> {
        let takes_over = self.talk.is_some();
        if takes_over {
            wait::shorten_slice();
            resume(agent, &std::mem::take(&mut self.offer.sessions), true)?;
            self.take_over(agent)?;
        }
        workers.go();
        agent.start_bfd()?;
        if takes_over {
            agent.underlay.take_charge();
            door.iter_mut().for_each(Door::own);
        }
        Ok(())
    }

    fn take_over(&mut self, agent: &mut Agent) -> Result<(), AgentError> {
        for attempt in 1..ATTEMPTS {
            let error = match self.try_to_take_over(agent) {
                Err(AgentError::HandOver(error)) if error.is_broken_off() => error,
                result => return result,
            };
            tracing::warn!(
                event = "take-over-late", attempt, %error,
                "this router was too late, and the running one goes on; trying again"
            );
            std::thread::sleep(PAUSE);
            self.connect_again(agent)?;
        }
        self.try_to_take_over(agent)
    }

    fn try_to_take_over(&self, agent: &Agent) -> Result<(), AgentError> {
        let Some(talk) = &self.talk else { return Ok(()) };
        let stopped = talk.have_it_stop()?;
        agent.underlay.begin_at(&stopped.positions).map_err(|device| {
            tracing::error!(event = "take-over-failed", device, "a device's sockets are not those that were offered");
            HandOverError::Unsound("a device's sockets are not those that were offered")
        })?;
        resume(agent, &stopped.sessions, false)?;
        Ok(talk.send(&Message::Taken)?)
    }

    /// Connects again to a running router that has gone on, for the sockets that this one has already.
    fn connect_again(&mut self, agent: &Agent) -> Result<(), AgentError> {
        self.talk = None;
        let setup = &agent.setup;
        let (talk, offer) = Conversation::begin(&self.path, &setup.config.general.id, setup.links.ia.0)?;
        if offer.identity().map_err(HandOverError::from)? != self.identity {
            return Err(HandOverError::Unsound("its sockets have changed meanwhile; try again").into());
        }
        resume(agent, &offer.sessions, false)?;
        self.talk = Some(talk);
        Ok(())
    }

    /// What is left to do after the take-over.
    pub(super) fn into_rest(self) -> Option<Rest> {
        Some(Rest { talk: self.talk?, since: Instant::now() })
    }
}

/// Continues BFD sessions of the running router, and programs the links whose state is another one now, or all.
fn resume(agent: &Agent, sessions: &[SavedSession], all: bool) -> Result<(), AgentError> {
    let ends = || next_hop::link_ends(&agent.setup.links).map(|(target, ..)| target);
    let before: Vec<_> = ends().map(|target| agent.link_state(target)).collect();
    agent.bfd.resume(sessions);
    for (target, before) in ends().zip(before) {
        if all || agent.link_state(target) != before {
            agent.program_target(target)?;
        }
    }
    Ok(())
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
