//! The agent's part when another process takes over: flows, groups, meters and ports' configurations go on, and controllers connect
//! again.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::{Arc, mpsc};

use hopwright_agent::{StartError, Succession};
use hopwright_dataplane::Tenant;
use tokio::sync::watch;

use crate::agent::{Agent, Error};
use crate::switch::Switch;

/// What the agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Another process has the ports still.
    Waits,
    /// It has the ports, and the other process has its controllers still.
    Forwards,
    Works,
    /// Another process takes over.
    Pauses,
}

/// Where messages of controllers wait.
#[derive(Clone)]
pub(crate) struct Gate(pub watch::Receiver<Phase>);

impl Gate {
    /// Waits until messages may be carried out. An agent that stops never does.
    pub(crate) async fn works(&mut self) {
        if self.0.wait_for(|phase| *phase == Phase::Works).await.is_err() {
            std::future::pending().await
        }
    }
}

/// What jobs work with.
pub(crate) struct Work {
    pub switch: Rc<RefCell<Switch>>,
    pub tenant: Arc<Tenant>,
    pub phase: watch::Sender<Phase>,
}

/// Something that the agent's thread is to do.
pub(crate) type Job = Box<dyn FnOnce(&Work) + Send>;

impl Agent {
    /// Has the thread do something, and waits for what it returns; `None` if there is no thread any more.
    fn ask<R: Send + 'static>(&self, work: impl FnOnce(&Work) -> R + Send + 'static) -> Option<R> {
        let (answer, answered) = mpsc::sync_channel(1);
        // Nobody may wait any more.
        let job = move |with: &Work| answer.send(work(with)).unwrap_or_default();
        self.jobs.send(Box::new(job)).ok()?;
        answered.recv().ok()
    }

    fn enter(&self, phase: Phase) {
        self.ask(move |work| work.phase.send_replace(phase));
    }

    fn change(
        &self,
        work: impl FnOnce(&mut Switch) -> Result<(), crate::saved::StateError> + Send + 'static,
    ) -> Result<(), Error> {
        let done = self.ask(move |with| work(&mut with.switch.borrow_mut()).map_err(|error| error.to_string()));
        done.unwrap_or_else(|| Err("its thread has ended".into())).map_err(Error::TakeOver)
    }

    /// Has the state of another process.
    pub(crate) fn load(&self, state: &[u8]) -> Result<(), Error> {
        let state = state.to_vec();
        self.change(move |switch| switch.load(&state))
    }
}

impl Succession for Agent {
    fn descriptors(&self) -> io::Result<Vec<(String, OwnedFd)>> {
        self.listeners.iter().map(|(name, listener)| Ok((name.clone(), listener.try_clone()?))).collect()
    }

    fn state(&self) -> Vec<u8> {
        self.ask(|work| work.switch.borrow_mut().save()).unwrap_or_default()
    }

    fn keep_state(&self) {
        self.ask(|work| work.switch.borrow_mut().journal = None);
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
