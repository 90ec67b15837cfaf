//! A process as those that take over see it, and as one that takes over.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use hopwright_dataplane::Switch;
use hopwright_ports::{Opener, Reception};

use super::{Error, Starting};
use crate::hand_over::{
    HandOverError, Offer, StoppedAt, TakeOver, Workers, begin_at, duplicates, of_receptions, positions,
    refusal_of_ports,
};
use crate::{Agent, Succession};

/// What a process has.
pub(super) struct Process<'a> {
    /// What it is to processes that take over.
    pub name: String,
    pub agent: Arc<dyn Agent>,
    pub switch: Arc<Switch>,
    pub opener: Opener,
    pub workers: Workers,
    /// The devices receive as long as these are there.
    pub receptions: Vec<Reception>,
    /// Servers' sockets by their addresses.
    pub listeners: Vec<(String, OwnedFd)>,
    /// Starts what is beside the agent, when no other process has that any more.
    pub starting: &'a Starting<'a>,
    /// What it has started.
    pub beside: Option<Box<dyn Send>>,
}

impl Process<'_> {
    fn succession(&self) -> Result<&dyn Succession, HandOverError> {
        let why =
            || HandOverError::Refused(format!("no process can take over from an agent of the kind {}", self.name));
        self.agent.succession().ok_or_else(why)
    }
}

impl TakeOver for Process<'_> {
    type Error = Error;

    fn name(&self) -> String {
        self.name.clone()
    }

    fn refusal(&self) -> Option<String> {
        self.succession().err().map(|error| error.to_string()).or_else(|| refusal_of_ports(&self.opener))
    }

    fn rounds(&self) -> u64 {
        self.switch.rounds()
    }

    fn sockets(&self) -> io::Result<Offer> {
        let mut descriptors = duplicates(&self.listeners)?;
        descriptors.extend(of_receptions(&self.receptions)?);
        if let Some(agent) = self.agent.succession() {
            descriptors.extend(agent.descriptors()?);
        }
        Ok(Offer {
            descriptors,
            devices: self.opener.share()?,
            memory: self.opener.share_memory()?,
            ..Offer::default()
        })
    }

    fn lasts(&self, name: &str) -> bool {
        self.agent.succession().is_some_and(|agent| agent.lasts(name))
    }

    fn state(&mut self) -> Vec<u8> {
        self.agent.succession().map_or_else(Vec::new, |agent| agent.state())
    }

    fn keep_state(&mut self) {
        self.agent.succession().iter().for_each(|agent| agent.keep_state());
    }

    fn stop(&mut self) -> Result<StoppedAt, Error> {
        let agent = self.agent.clone();
        let Some(agent) = agent.succession() else { return Ok(StoppedAt::default()) };
        agent.pause();
        self.workers.pause(&self.switch, || agent.finish())?;
        Ok(StoppedAt { state: agent.changes(), positions: positions(&self.opener, &self.workers) })
    }

    fn go_on(&mut self) -> Result<(), Error> {
        self.workers.go_on(&self.switch).map_err(Error::Thread)?;
        self.agent.succession().iter().for_each(|agent| agent.go_on());
        Ok(())
    }

    fn last_state(&mut self) -> Vec<u8> {
        self.opener.leave();
        self.agent.succession().map_or_else(Vec::new, |agent| agent.leave())
    }

    fn follow(&mut self, stopped: &StoppedAt) -> Result<(), Error> {
        begin_at(&self.opener, stopped);
        self.succession()?.follow(&stopped.state).map_err(Error::Start)
    }

    fn renew(&mut self, state: &[u8]) -> Result<(), Error> {
        self.succession()?.renew(state).map_err(Error::Start)
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.workers.go();
        Ok(())
    }

    fn take_charge(&mut self) {
        self.agent.succession().iter().for_each(|agent| agent.begin());
        if let Err(error) = self.opener.take_charge() {
            tracing::warn!(event = "socket-filter", %error, "cannot update the filters of sockets");
        }
    }

    fn predecessor_has_gone(&mut self, state: &[u8]) -> Result<(), Error> {
        self.opener.predecessor_has_gone();
        self.opener.forget_predecessor();
        self.agent.succession().iter().for_each(|agent| agent.predecessor_has_gone(state));
        match (self.starting)(&self.switch) {
            Ok(beside) => self.beside = Some(beside),
            Err(error) => tracing::error!(%error, "network management is not served any more"),
        }
        Ok(())
    }
}
