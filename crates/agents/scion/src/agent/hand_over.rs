//! A router takes over from a running one, and hands over to a successor; see [`hopwright_agent::hand_over`]. Beside what it reads of
//! files and of the kernel, it has the state of BFD's sessions.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use hopwright_agent::hand_over::{HandOverError, Heir, Offer, StoppedAt, TakeOver, Workers, duplicates};
use hopwright_dataplane::EngineKind;

use super::{Agent, AgentError};
use crate::bfd::SavedSession;
use crate::setup::Setup;
use crate::underlay::{Underlay, next_hop};

/// The longest time from a router's stop until its successor has taken over, without BFD and at least. Packets wait meanwhile.
const TAKING_TIME: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// What a router is to its predecessor and its successor.
pub(super) fn name(setup: &Setup) -> String {
    format!("router {} of {}", setup.config.general.id, setup.links.ia)
}

/// BFD sessions, as a router sends them.
fn write_sessions(sessions: &[SavedSession]) -> Vec<u8> {
    // Writing to memory cannot fail.
    postcard::to_extend(sessions, Vec::new()).unwrap_or_default()
}

/// See [`write_sessions`].
fn read_sessions(bytes: &[u8]) -> Result<Vec<SavedSession>, HandOverError> {
    postcard::from_bytes(bytes).map_err(|_| HandOverError::Unsound("its BFD sessions cannot be read"))
}

/// Gives the UDP sockets and devices of the predecessor to this router.
pub(super) fn bequeath(heir: &mut Heir, underlay: &Underlay) {
    if heir.takes_over() {
        let Offer { sockets, devices, .. } = &mut heir.offer;
        underlay.inherit(std::mem::take(sockets), std::mem::take(devices));
    }
}

/// Continues the predecessor's BFD sessions, and programs all links accordingly.
pub(super) fn inherit_sessions(heir: &Heir, agent: &Agent) -> Result<(), AgentError> {
    if heir.takes_over() { resume(agent, &heir.offer.state, true) } else { Ok(()) }
}

/// Continues BFD sessions of the predecessor, and programs the links whose state is another one now, or all.
fn resume(agent: &Agent, sessions: &[u8], all: bool) -> Result<(), AgentError> {
    let sessions = read_sessions(sessions)?;
    let ends = || next_hop::link_ends(&agent.setup.links).map(|(target, ..)| target);
    let before: Vec<_> = ends().map(|target| agent.link_state(target)).collect();
    agent.bfd.resume(&sessions);
    for (target, before) in ends().zip(before) {
        if all || agent.link_state(target) != before {
            agent.program_target(target)?;
        }
    }
    Ok(())
}

/// A router alone: its agent, and what the switch and the servers have.
pub(super) struct Router {
    pub agent: Agent,
    pub workers: Workers,
    /// HTTP servers' sockets, for a successor.
    pub listeners: Vec<(String, OwnedFd)>,
}

impl TakeOver for Router {
    type Error = AgentError;

    fn name(&self) -> String {
        name(&self.agent.setup)
    }

    fn refusal(&self) -> Option<String> {
        if self.agent.taps.is_some() {
            return Some("its slow path is another router's".into());
        }
        let in_hardware = self.agent.vdp.engine_kind() == EngineKind::Offload;
        in_hardware.then(|| "its program runs in hardware".into())
    }

    fn rounds(&self) -> u64 {
        self.agent.switch.rounds()
    }

    fn sockets(&self) -> io::Result<Offer> {
        let (sockets, devices) = self.agent.underlay.share()?;
        Ok(Offer { sockets, descriptors: duplicates(&self.listeners)?, devices, ..Offer::default() })
    }

    fn state(&mut self) -> Vec<u8> {
        write_sessions(&self.agent.bfd.saved())
    }

    fn withdraw(&mut self) -> Result<(), AgentError> {
        Ok(self.agent.underlay.withdraw()?)
    }

    fn restore(&mut self) {
        self.agent.underlay.restore();
    }

    /// Half of the time after which other ends take this router for dead: the successor's packets have the other half.
    fn patience(&self) -> Duration {
        let patience = self.agent.bfd.patience();
        patience.map_or(TAKING_TIME.1, |time| time / 2).clamp(TAKING_TIME.0, TAKING_TIME.1)
    }

    fn stop(&mut self) -> Result<StoppedAt, AgentError> {
        let Router { agent, workers, .. } = self;
        // Other ends get a packet of this router now, and then none for a while.
        agent.bfd.stop();
        agent.bfd.announce(&agent.tenant);
        let switch = agent.switch.clone();
        workers.pause(&switch, || {
            let before = agent.slow_path_time.packets;
            agent.take_punted();
            agent.slow_path_time.packets != before
        })?;
        Ok(StoppedAt { state: write_sessions(&agent.bfd.saved()), positions: agent.underlay.positions() })
    }

    fn go_on(&mut self) -> Result<(), AgentError> {
        let Router { agent, workers, .. } = self;
        workers.go_on(&agent.switch).map_err(|error| AgentError::Worker(error.to_string()))?;
        agent.underlay.restore();
        // What the other ends have sent waits to be received.
        agent.bfd.resume(&agent.bfd.saved());
        agent.start_bfd()
    }

    fn follow(&mut self, stopped: &StoppedAt) -> Result<(), AgentError> {
        if let Some(device) = self.agent.underlay.begin_at(&stopped.positions) {
            tracing::error!(event = "take-over-failed", device, "a device's sockets are not those that were offered");
            return Err(HandOverError::Unsound("a device's sockets are not those that were offered").into());
        }
        resume(&self.agent, &stopped.state, false)
    }

    fn renew(&mut self, state: &[u8]) -> Result<(), AgentError> {
        resume(&self.agent, state, false)
    }

    fn begin(&mut self) -> Result<(), AgentError> {
        self.workers.go();
        self.agent.start_bfd()
    }

    fn take_charge(&mut self) {
        self.agent.underlay.take_charge();
    }

    /// Opens the devices that the predecessor has closed.
    fn predecessor_has_gone(&mut self, _: &[u8]) -> Result<(), AgentError> {
        let agent = &mut self.agent;
        agent.underlay.predecessor_has_gone();
        agent.follow_devices(true)?;
        agent.underlay.forget_predecessor();
        agent.log_link_ports();
        Ok(())
    }
}
