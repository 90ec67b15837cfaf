//! The agent's part when another process takes over: flows, groups, meters and ports' configurations go on, and controllers connect
//! again.

use std::io;
use std::os::fd::OwnedFd;

use hopwright_agent::{StartError, Succession};

use crate::agent::{Agent, Work};
use crate::journal::Journal;
use crate::phase::Phase;

impl Succession for Agent {
    fn descriptors(&self) -> io::Result<Vec<(String, OwnedFd)>> {
        self.listeners.iter().map(|(name, listener)| Ok((name.clone(), listener.try_clone()?))).collect()
    }

    fn state(&self) -> Vec<u8> {
        self.ask(|work| work.switch.borrow_mut().save()).unwrap_or_default()
    }

    fn keep_state(&self) {
        self.ask(|work| work.switch.borrow_mut().journal = Journal::default());
    }

    fn pause(&self) {
        self.enter(Phase::Pauses);
    }

    fn finish(&self) -> bool {
        let finish = |work: &Work| {
            let mut any = false;
            while let Some(packet) = work.tenant.cpu().try_receive() {
                work.switch.borrow_mut().packet_in(&packet);
                any = true;
            }
            any
        };
        self.ask(finish).unwrap_or_default()
    }

    fn changes(&self) -> Vec<u8> {
        self.ask(|work| work.switch.borrow().changes()).unwrap_or_default()
    }

    fn go_on(&self) {
        self.enter(Phase::Works);
    }

    fn leave(&self) -> Vec<u8> {
        self.ask(|work| work.switch.borrow().flow_counts()).unwrap_or_default()
    }

    fn follow(&self, changes: &[u8]) -> Result<(), StartError> {
        let changes = changes.to_vec();
        Ok(self.change(move |switch| switch.follow(&changes))?)
    }

    fn renew(&self, state: &[u8]) -> Result<(), StartError> {
        Ok(self.load(state)?)
    }

    fn begin(&self) {
        self.enter(Phase::Forwards);
    }

    fn predecessor_has_gone(&self, state: &[u8]) {
        let state = state.to_vec();
        self.ask(move |work| work.switch.borrow_mut().add_flow_counts(&state));
        self.enter(Phase::Works);
    }
}
