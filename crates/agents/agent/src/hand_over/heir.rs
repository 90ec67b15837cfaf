//! The side of the process that takes over.
//!
//! Between the running process's stop and this one's start, packets wait. Everything that takes time is therefore done before: tables,
//! ports and the workers' threads. What is left is to follow what has changed of the agent's state, to say where to read on, and to wake
//! the workers.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::{self, PollSet};
use hopwright_host::hand_over::Door;
use hopwright_host::http::Listener;
use hopwright_host::service_manager;

use super::message::Message;
use super::take_over::TakeOver;
use super::{Conversation, HandOverError, LEFT, Offer, StoppedAt, open_door};

/// How long a predecessor may take to close its devices.
const CLOSING_TIME: Duration = Duration::from_secs(10);
/// How often a process tries to take over if it is too late, as on a busy machine, and the pause before the next attempt.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// What a starting process has of the running one, if it takes over from one.
#[derive(Debug, Default)]
pub struct Heir {
    talk: Option<Conversation>,
    /// Where the running process is reached.
    path: PathBuf,
    name: String,
    /// What it offers.
    pub offer: Offer,
    /// Its sockets; see [`Offer::identity`].
    identity: Vec<u64>,
    /// Where a process has stopped that has ended, and left everything with the service manager.
    stopped: Option<StoppedAt>,
    /// Whether the service manager has kept something for this process, which it may forget.
    pub(super) was_kept: bool,
    /// The socket that a successor of this process will connect to.
    pub(super) door: Option<Door>,
    /// Called when this process has taken over.
    pub(super) taken_over: Option<fn()>,
}

impl Heir {
    /// Connects to the running process that listens at a path. `name` is what both are.
    ///
    /// # Errors
    /// There is none, or it refuses.
    pub(super) fn connect(path: &Path, name: &str) -> Result<Heir, HandOverError> {
        let (talk, offer) = Conversation::begin(path, name)?;
        tracing::info!(
            event = "taking-over",
            sockets = offer.sockets.len(),
            devices = offer.devices.len(),
            "preparing to take over from the running process"
        );
        let identity = offer.identity()?;
        let (talk, path, name) = (Some(talk), path.to_path_buf(), name.into());
        Ok(Heir { talk, path, name, offer, identity, ..Heir::default() })
    }

    /// What a process of this name has left with the service manager, which has started this one in its place.
    pub(super) fn of_left(name: &str) -> Heir {
        let Some(socket) = service_manager::kept(LEFT) else { return Heir::default() };
        let was_kept = true;
        match Conversation::left(socket, name) {
            Ok((talk, offer, stopped)) => {
                tracing::info!(
                    event = "taking-over",
                    sockets = offer.sockets.len(),
                    devices = offer.devices.len(),
                    "preparing to go on where the process before has stopped"
                );
                let (talk, stopped, name) = (Some(talk), Some(stopped), name.into());
                Heir { talk, stopped, name, offer, was_kept, ..Heir::default() }
            }
            Err(error) => {
                tracing::warn!(event = "left-unused", %error, "what the process before has left is of no use");
                Heir { was_kept, ..Heir::default() }
            }
        }
    }

    /// Whether this process takes over from another one.
    pub fn takes_over(&self) -> bool {
        self.talk.is_some()
    }

    /// Opens the socket that a successor of this process will connect to.
    pub(super) fn open_door(&mut self, path: Option<&Path>) -> Result<(), HandOverError> {
        self.door = match (path, self.offer.door.take()) {
            (Some(path), Some(socket)) => Some(Door::inherited(socket, path)),
            (Some(path), None) => Some(open_door(path)?),
            (None, _) => None,
        };
        Ok(())
    }

    /// Listens at an address, by the predecessor's socket if there is one. Returns also a duplicate for a successor, with its name.
    ///
    /// # Errors
    /// Nobody can listen there.
    pub fn listen(&mut self, address: &str) -> io::Result<(Listener, (String, OwnedFd))> {
        let inherited = self.offer.take_descriptor(address);
        let listener = inherited.map_or_else(|| Listener::open(address), Listener::inherited)?;
        let duplicate = listener.share()?;
        Ok((listener, (address.into(), duplicate)))
    }

    /// Has the running process stop for good. If that fails it goes on.
    ///
    /// # Errors
    /// It has not stopped, or this process cannot begin.
    pub(super) fn take_over<T: TakeOver>(&mut self, this: &mut T) -> Result<(), T::Error> {
        wait::shorten_slice();
        for attempt in 1..ATTEMPTS {
            let error = match self.attempt(this)? {
                Ok(()) => return Ok(()),
                Err(error) if error.is_broken_off() => error,
                Err(error) => return Err(error.into()),
            };
            tracing::warn!(
                event = "take-over-late", attempt, %error,
                "this process was too late, and the running one goes on; trying again"
            );
            std::thread::sleep(PAUSE);
            self.connect_again(this)?;
        }
        Ok(self.attempt(this)??)
    }

    fn attempt<T: TakeOver>(&self, this: &mut T) -> Result<Result<(), HandOverError>, T::Error> {
        let Some(talk) = &self.talk else { return Ok(Ok(())) };
        if let Some(stopped) = &self.stopped {
            return this.follow(stopped).map(Ok);
        }
        match talk.have_it_stop() {
            Ok(stopped) => this.follow(&stopped).map(|()| talk.send(&Message::Taken)),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Connects again to a running process that has gone on, for the sockets that this one has already.
    fn connect_again<T: TakeOver>(&mut self, this: &mut T) -> Result<(), T::Error> {
        self.talk = None;
        let (talk, offer) = Conversation::begin(&self.path, &self.name)?;
        if offer.identity().map_err(HandOverError::from)? != self.identity {
            return Err(HandOverError::Unsound("its sockets have changed meanwhile; try again").into());
        }
        this.renew(&offer.state)?;
        self.talk = Some(talk);
        Ok(())
    }

    /// What is left to wait for after the take-over.
    pub(super) fn into_rest(self) -> Option<Rest> {
        Some(Rest { talk: self.talk?, since: Instant::now(), state: Vec::new() })
    }
}

/// A predecessor that closes what it has. Then devices can be opened whose sockets could not be taken over.
#[derive(Debug)]
pub(super) struct Rest {
    talk: Conversation,
    since: Instant,
    state: Vec<u8>,
}

impl Rest {
    /// Adds the events to wait for.
    pub(super) fn add_to(&self, poll: &mut PollSet) {
        poll.add(self.talk.channel().as_raw_fd());
    }

    /// Whether the predecessor has closed everything, or had time for it. Then returns the last of its state.
    pub(super) fn finished(&mut self) -> Option<Vec<u8>> {
        let ended = self.talk.has_ended(&mut self.state) || self.since.elapsed() >= CLOSING_TIME;
        ended.then(|| std::mem::take(&mut self.state))
    }
}
