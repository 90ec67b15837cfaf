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
use hopwright_ports::{Opener, SharedMemory};

use super::message::Message;
use super::take_over::TakeOver;
use super::{Conversation, HandOverError, LEFT, Offer, StoppedAt, lasting_name, open_door};

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
    /// Names of descriptors that the service manager may keep.
    pub(super) kept: Vec<String>,
    /// Descriptors with their names that outlive processes ([`TakeOver::lasts`]), if there is nothing else of a predecessor.
    pub lasting: Vec<(String, OwnedFd)>,
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
        let kept = offer.descriptors.iter().map(|(of, _)| lasting_name(name, of)).collect();
        let (talk, path, name) = (Some(talk), path.to_path_buf(), name.into());
        Ok(Heir { talk, path, name, offer, identity, kept, ..Heir::default() })
    }

    /// What a process of this name has left with the service manager, which has started this one in its place; or what it has kept while
    /// that ran, if it crashed.
    pub(super) fn of_left(name: &str) -> Heir {
        let mut all = service_manager::kept();
        let kept = all.iter().map(|(name, _)| name.clone()).collect();
        let left = all.extract_if(.., |(name, _)| name == LEFT).last();
        let prefix = lasting_name(name, "");
        let own = |(of, descriptor): (String, OwnedFd)| Some((of.strip_prefix(&prefix)?.to_string(), descriptor));
        let lasting = all.into_iter().filter_map(own).collect();
        let Some((_, socket)) = left else { return Heir::anew(kept, lasting) };
        match Conversation::left(socket, name) {
            Ok((talk, offer, stopped)) => {
                tracing::info!(
                    event = "taking-over",
                    sockets = offer.sockets.len(),
                    devices = offer.devices.len(),
                    "preparing to go on where the process before has stopped"
                );
                let (talk, stopped, name) = (Some(talk), Some(stopped), name.into());
                Heir { talk, stopped, name, offer, kept, lasting, ..Heir::default() }
            }
            Err(error) => {
                tracing::warn!(event = "left-unused", %error, "what the process before has left is of no use");
                Heir::anew(kept, lasting)
            }
        }
    }

    /// Without a predecessor. `kept`: the names of what the service manager may keep; `lasting`: what it has kept.
    pub(super) fn anew(kept: Vec<String>, lasting: Vec<(String, OwnedFd)>) -> Heir {
        Heir { kept, lasting, ..Heir::default() }
    }

    /// Whether this process takes over from another one.
    pub fn takes_over(&self) -> bool {
        self.talk.is_some()
    }

    /// Whether the predecessor has ended, and left everything with the service manager.
    pub(super) fn is_left(&self) -> bool {
        self.stopped.is_some()
    }

    /// Has devices opened with the sockets of the predecessor. It may have others: if it runs, [`Opener::is_occupied`] says so; if it has
    /// ended, devices whose sockets cannot be used are opened anew.
    pub fn bequeath(&mut self, opener: &Opener) {
        if self.talk.is_none() {
            return;
        }
        opener.inherit(std::mem::take(&mut self.offer.devices));
        let Some(stopped) = &mut self.stopped else { return };
        for device in opener.give_up_others() {
            tracing::warn!(
                event = "device-anew",
                device,
                "the sockets that the process before has left are of another kind or number; frames that wait there are lost"
            );
            stopped.positions.retain(|(name, _)| *name != device);
        }
    }

    /// The memory of the predecessor's frames for [`Wanted::memory`](hopwright_ports::Wanted::memory), if all its devices with AF_XDP sockets are among these: the frames in the rings of
    /// others would be lost with their sockets.
    pub fn memory(&self, devices: &[&str]) -> &[SharedMemory] {
        let of_xdp = self.offer.devices.iter().filter(|device| !device.queues.is_empty());
        let any = of_xdp.clone().next().is_some();
        let mut all = of_xdp.map(|device| device.name.as_str());
        if any && all.all(|name| devices.contains(&name)) { &self.offer.memory } else { &[] }
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
