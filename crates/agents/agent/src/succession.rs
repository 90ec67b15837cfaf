//! An agent's part when another process takes over.

use std::io;
use std::os::fd::OwnedFd;

#[cfg(doc)]
use crate::Environment;
use crate::StartError;
use crate::hand_over::Offer;

/// What an agent gets of the one in another process that it takes over from.
#[derive(Debug, Default)]
pub struct Inheritance {
    /// Descriptors by the names that [`Succession::descriptors`] gave them.
    pub descriptors: Vec<(String, OwnedFd)>,
    /// What [`Succession::state`] returned.
    pub state: Vec<u8>,
}

impl Inheritance {
    /// Takes out of an offer what is the agent's.
    pub fn of(offer: &mut Offer) -> Inheritance {
        Inheritance { descriptors: std::mem::take(&mut offer.descriptors), state: std::mem::take(&mut offer.state) }
    }

    /// A duplicate of the descriptor of this name, if there is one.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn descriptor(&self, name: &str) -> io::Result<Option<OwnedFd>> {
        let found = self.descriptors.iter().find(|(other, _)| other == name);
        found.map(|(_, descriptor)| descriptor.try_clone()).transpose()
    }
}

/// An agent's part when another process takes over ([`crate::hand_over`]). The agent goes on with its work until it is to pause. The
/// one in the other process builds its tables meanwhile, and waits for [`Succession::begin`].
pub trait Succession {
    /// Duplicates of what the agent receives by, by names that a successor's settings give them, too.
    ///
    /// # Errors
    /// The system has no more descriptors.
    fn descriptors(&self) -> io::Result<Vec<(String, OwnedFd)>>;

    /// Whether the descriptor of this name is to be kept if the process crashes, for the next one ([`Environment::lasting`]).
    fn lasts(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// What a successor cannot read elsewhere, as it is now.
    fn state(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Nobody needs [`Succession::changes`] of the state.
    fn keep_state(&self) {}

    /// Takes nothing more in, of the network or of clients, when this returns. What has been taken in is with the program.
    fn pause(&self);

    /// Moves what the program has sent to the agent. Returns whether that was anything. It pauses.
    fn finish(&self) -> bool;

    /// What has changed of the state since [`Succession::state`]. It pauses.
    fn changes(&self) -> Vec<u8> {
        Vec::new()
    }

    /// No process takes over: goes on after a pause.
    fn go_on(&self);

    /// Another process has taken over, and everything is its own. Returns what it needs less soon.
    fn leave(&self) -> Vec<u8> {
        Vec::new()
    }

    /// The agent that this one takes over from pauses: follows what has changed of its state.
    ///
    /// # Errors
    /// That is impossible; the other one goes on.
    fn follow(&self, changes: &[u8]) -> Result<(), StartError> {
        let _ = changes;
        Ok(())
    }

    /// The agent that this one is to take over from has gone on, and its state is another one.
    ///
    /// # Errors
    /// This agent cannot have that state.
    fn renew(&self, state: &[u8]) -> Result<(), StartError> {
        let _ = state;
        Ok(())
    }

    /// Begins to work in the other one's place.
    fn begin(&self);

    /// The other process has gone. `state`: what [`Succession::leave`] returned there.
    fn predecessor_has_gone(&self, state: &[u8]) {
        let _ = state;
    }
}
