//! What a process does when it takes over from another one, and when another one takes over from it.

use std::fmt::Display;
use std::io;
use std::time::Duration;

use super::{HandOverError, Offer, StoppedAt};

/// A process that takes over from another one, and that others take over from.
pub trait TakeOver {
    /// Why it does not work any more.
    type Error: From<HandOverError> + Display;

    /// What it is. A successor says the same of itself.
    fn name(&self) -> String;

    /// Why no process can take over, if that is so. Then nothing is left with the service manager either.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// A number that changes as long as packets are forwarded.
    fn rounds(&self) -> u64;

    /// Duplicates of what packets come by, and of other descriptors for a successor.
    ///
    /// # Errors
    /// The system has no more descriptors.
    fn sockets(&self) -> io::Result<Offer>;

    /// Whether the service manager keeps a descriptor of this name as long as the service runs, because neighbours would notice if it were closed
    /// when the process crashes.
    fn lasts(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// The agent's state. It goes on to change; [`StoppedAt::state`] says how.
    fn state(&mut self) -> Vec<u8>;

    /// The successor that got the state does not take over.
    fn keep_state(&mut self) {}

    /// Leaves to the kernel and the sockets what a successor cannot get from here. The workers still run.
    ///
    /// # Errors
    /// That is impossible. [`TakeOver::restore`] follows.
    fn withdraw(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Undoes [`TakeOver::withdraw`].
    fn restore(&mut self) {}

    /// How long it may take from the stop until the successor has taken over. Packets wait meanwhile.
    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Stops: what was taken in has left, and nothing more is taken in.
    ///
    /// # Errors
    /// It does not work any more.
    fn stop(&mut self) -> Result<StoppedAt, Self::Error>;

    /// Undoes [`TakeOver::stop`] and [`TakeOver::withdraw`].
    ///
    /// # Errors
    /// It does not work any more.
    fn go_on(&mut self) -> Result<(), Self::Error>;

    /// The agent's state that a successor needs less soon. It has taken over, or the service manager is to start it: then there may be
    /// none, and nothing must have to be undone.
    fn last_state(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// The predecessor has stopped here: the last moment to refuse.
    ///
    /// # Errors
    /// This process cannot begin there. The predecessor goes on.
    fn follow(&mut self, stopped: &StoppedAt) -> Result<(), Self::Error>;

    /// The predecessor has gone on, because this process was too late: its state is another one now.
    ///
    /// # Errors
    /// This process cannot have that state.
    fn renew(&mut self, state: &[u8]) -> Result<(), Self::Error>;

    /// Has packets flow.
    ///
    /// # Errors
    /// It does not work.
    fn begin(&mut self) -> Result<(), Self::Error>;

    /// Packets flow here and not in the predecessor any more: takes charge of what both had.
    fn take_charge(&mut self);

    /// The predecessor has closed everything. `state`: what [`TakeOver::last_state`] returned there.
    ///
    /// # Errors
    /// This process does not work any more.
    fn predecessor_has_gone(&mut self, state: &[u8]) -> Result<(), Self::Error>;
}
