//! The life of a process: it begins, in the place of a predecessor if there is one; works; and ends, in favour of a successor if there
//! is one.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::PollSet;
use hopwright_host::hand_over::Door;
use hopwright_host::service_manager::ServiceManager;
use hopwright_ports::closing;

use super::heir::{Heir, Rest};
use super::successors::Successors;
use super::take_over::TakeOver;
use super::{HandOverError, LEFT, Offer, lasting_name};

/// How long closing everything may take at the end.
const CLOSING_TIME: Duration = Duration::from_secs(2);

/// How a process takes over from another one, and the next from it.
#[derive(Clone, Debug, Default)]
pub struct HandOver {
    /// The socket by which a successor takes over, or this process from a running one.
    pub control: Option<PathBuf>,
    /// Whether to take over from the process that listens there.
    pub take_over: bool,
    /// Called when this process has taken over.
    pub taken_over: Option<fn()>,
}

impl HandOver {
    /// Where the process listens that this one is to take over from, if it is to.
    pub fn predecessor(&self) -> Option<&Path> {
        self.control.as_deref().filter(|_| self.take_over)
    }

    /// Connects to the predecessor, if there is to be one, and opens the socket for a successor. `name` is what all of them are.
    ///
    /// # Errors
    /// There is no predecessor, or it refuses; or a process listens at the socket already.
    pub fn prepare(&self, name: &str) -> Result<Heir, HandOverError> {
        let mut heir = match self.predecessor() {
            Some(path) => Heir::connect(path, name)?,
            None => Heir::of_left(name),
        };
        heir.open_door(self.control.as_deref())?;
        heir.taken_over = self.taken_over;
        Ok(heir)
    }

    /// Prepares for a process of this name, and has it begin. If it cannot go on where one has stopped that left everything with the
    /// service manager, it begins anew: nobody else is there.
    ///
    /// # Errors
    /// As for [`HandOver::prepare`], or it cannot begin.
    pub fn begin<T, E>(&self, name: &str, begin: impl Fn(Heir) -> Result<T, E>) -> Result<T, E>
    where
        E: From<HandOverError> + Display,
    {
        let mut heir = self.prepare(name)?;
        let is_left = heir.is_left();
        let lasting = if is_left { std::mem::take(&mut heir.lasting) } else { Vec::new() };
        let kept = heir.kept.clone();
        match begin(heir) {
            Err(error) if is_left => {
                tracing::warn!(event = "left-unused", %error, "what the process before has left is of no use");
                let mut heir = Heir::anew(kept, lasting);
                heir.open_door(self.control.as_deref())?;
                begin(heir)
            }
            begun => begun,
        }
    }
}

/// Has the service manager keep what is to outlive the process, and no more what did outlive one before. `kept`: what it may have.
fn keep_lasting<P: TakeOver>(process: &P, kept: &[String], manager: &mut ServiceManager) {
    if !manager.is_there() {
        return;
    }
    let Ok(Offer { descriptors, .. }) = process.sockets().inspect_err(|error| {
        tracing::warn!(event = "not-kept", %error, "a crash would close what neighbours notice");
    }) else {
        return;
    };
    let own = process.name();
    let lasting = descriptors.into_iter().filter(|(name, _)| process.lasts(name));
    let lasting: Vec<_> = lasting.map(|(name, descriptor)| (lasting_name(&own, &name), descriptor)).collect();
    // Other descriptors of a predecessor were never kept.
    let prefix = lasting_name(&own, "");
    let may_be = |name: &str| name != LEFT && name.strip_prefix(&prefix).is_none_or(|name| process.lasts(name));
    for name in kept.iter().filter(|name| may_be(name) && !lasting.iter().any(|(other, _)| other == *name)) {
        manager.forget(name);
    }
    for (name, descriptor) in &lasting {
        manager.keep(name, descriptor);
    }
}

/// A process at work, between its predecessor and its successor.
#[derive(Debug)]
pub struct Life {
    successors: Successors,
    /// The predecessor, until it has closed everything.
    rest: Option<Rest>,
    manager: ServiceManager,
    /// The names of what the service manager may have of processes before.
    kept: Vec<String>,
    /// Called when this process is ready, if it has taken over.
    taken_over: Option<fn()>,
    handed_over: bool,
}

impl Life {
    /// Has packets flow. A predecessor stops first; if the process cannot begin then, the predecessor goes on.
    ///
    /// # Errors
    /// The process does not work, or the predecessor does not stop.
    pub fn begin<P: TakeOver>(mut heir: Heir, process: &mut P) -> Result<Life, P::Error> {
        let mut manager = ServiceManager::new();
        // What it has left is used, or of no use. Another process would get it after a crash.
        heir.kept.iter().filter(|name| *name == LEFT).for_each(|name| manager.forget(name));
        let mut taken_over = None;
        if heir.takes_over() {
            heir.take_over(process)?;
        }
        process.begin()?;
        if heir.takes_over() {
            process.take_charge();
            heir.door.iter_mut().for_each(Door::own);
            tracing::info!(event = "taken-over", "took over from the running process");
            manager.inherit_limit(heir.offer.watchdog);
            manager.main_process(std::process::id());
            taken_over = heir.taken_over;
        }
        let successors = Successors::new(heir.door.take());
        let kept = std::mem::take(&mut heir.kept);
        Ok(Life { successors, rest: heir.into_rest(), manager, kept, taken_over, handed_over: false })
    }

    /// Works until `turn` returns false, or until another process has taken over. `turn` waits a moment for work, and does it.
    ///
    /// # Errors
    /// The process does not work any more.
    pub fn follow<P: TakeOver>(
        &mut self,
        process: &mut P,
        mut turn: impl FnMut(&mut P, &Life) -> Result<bool, P::Error>,
    ) -> Result<(), P::Error> {
        self.manager.ready();
        keep_lasting(process, &self.kept, &mut self.manager);
        if let Some(tell) = self.taken_over.take() {
            tell();
        }
        let result = loop {
            match turn(process, self).and_then(|goes_on| Ok(goes_on && !self.tend(process)?)) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if !self.handed_over {
            self.manager.stopping();
            if result.is_ok() {
                // What the predecessor has counted at its end is left to the successor, too.
                self.hear_predecessor(process)?;
                Successors::leave(process, &mut self.manager);
            }
        }
        result
    }

    /// Does what the service manager, the predecessor and successors wait for. Returns whether a successor has taken over.
    fn tend<P: TakeOver>(&mut self, process: &mut P) -> Result<bool, P::Error> {
        self.manager.keep_alive(process.rounds(), Instant::now());
        match &self.rest {
            Some(_) => self.hear_predecessor(process)?,
            None => self.handed_over = self.successors.serve(process, &mut self.manager)?,
        }
        Ok(self.handed_over)
    }

    /// Does what there is to do when the predecessor has gone, if it has.
    fn hear_predecessor<P: TakeOver>(&mut self, process: &mut P) -> Result<(), P::Error> {
        if let Some(state) = self.rest.as_mut().and_then(Rest::finished) {
            self.rest = None;
            process.predecessor_has_gone(&state)?;
        }
        Ok(())
    }

    /// Adds the events that [`Life::follow`] acts upon, for a `turn` that waits for them.
    pub fn add_to(&self, poll: &mut PollSet) {
        match &self.rest {
            Some(rest) => rest.add_to(poll),
            None => self.successors.add_to(poll),
        }
    }

    /// Whether another process has taken over.
    pub fn handed_over(&self) -> bool {
        self.handed_over
    }

    /// The end, when everything has been dropped. A successor opens devices when the connection to it ends.
    pub fn end(self) {
        if !closing::finish(CLOSING_TIME) {
            tracing::warn!(event = "devices-open", "not all devices are closed");
        }
    }
}
