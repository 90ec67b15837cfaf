//! The running process's side: it listens to successors, offers what it has, and stops when one of them is ready.

use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::{self, PollSet};
use hopwright_host::hand_over::{Channel, Door};
use hopwright_host::service_manager::ServiceManager;

use super::message::Message;
use super::take_over::TakeOver;
use super::{Conversation, CountedOn, HandOverError, LEFT, since_boot_ms};

/// How long a successor may take to build everything. Hardware that is simulated, or a compiled layout, takes the longest.
const BUILD_TIME: Duration = Duration::from_secs(120);

/// Where successors ask, and the one that is asking.
#[derive(Debug)]
pub(super) struct Successors {
    /// None: there can be none.
    door: Option<Door>,
    talk: Option<Talk>,
}

/// A conversation with a successor.
#[derive(Debug)]
struct Talk {
    with: Conversation,
    since: Instant,
    /// The successor's process.
    pid: u32,
    /// What was offered.
    offered: Option<CountedOn>,
}

impl Successors {
    /// They ask at this door, if there is one.
    pub(super) fn new(door: Option<Door>) -> Successors {
        Successors { door, talk: None }
    }

    /// Adds the events to wait for.
    pub(super) fn add_to(&self, poll: &mut PollSet) {
        match (&self.talk, &self.door) {
            (Some(talk), _) => poll.add(talk.with.channel().as_raw_fd()),
            (None, Some(door)) => poll.add(door.as_raw_fd()),
            (None, None) => {}
        }
    }

    /// Listens to a successor. Returns whether it has taken over; then the process has stopped for good.
    ///
    /// # Errors
    /// The process does not work any more.
    pub(super) fn serve<P: TakeOver>(
        &mut self,
        running: &mut P,
        manager: &mut ServiceManager,
    ) -> Result<bool, P::Error> {
        if self.talk.is_none() {
            self.greet();
        }
        let Some(talk) = &mut self.talk else { return Ok(false) };
        let received = match talk.with.receive(Duration::ZERO) {
            Ok(None) if talk.since.elapsed() < BUILD_TIME => return Ok(false),
            Ok(None) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            Ok(Some((message, _))) => Ok(message),
            Err(error) => Err(error),
        };
        let done = match received {
            Ok(Message::Hello { pid, name }) if talk.offered.is_none() => {
                talk.pid = pid;
                self.offer(running, manager, &name)
            }
            Ok(Message::Ready) if talk.offered.is_some() => {
                if self.hand_over(running, manager)? {
                    return Ok(true);
                }
                Err(HandOverError::HungUp)
            }
            Ok(_) => Err(HandOverError::OutOfTurn),
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            let why = match error {
                HandOverError::Refused(why) => why,
                other => other.to_string(),
            };
            tracing::warn!(event = "hand-over-failed", why, "no other process takes over; this one goes on");
            // A successor that speaks another version learns of this one. It may have gone.
            if let Some(talk) = self.talk.take() {
                let _ = talk.with.send(&Message::Refused(why));
                if talk.offered.is_some() {
                    running.keep_state();
                }
            }
        }
        Ok(false)
    }

    /// Leaves everything with the service manager, if there is one, for a process that it starts in the place of this one, which has
    /// stopped then. If it starts none it closes everything.
    pub(super) fn leave<P: TakeOver>(process: &mut P, manager: &mut ServiceManager) {
        if !manager.is_there() {
            return;
        }
        if let Some(why) = process.refusal() {
            tracing::info!(event = "not-left", why, "a process that the service manager starts has to begin anew");
            return;
        }
        let left = Channel::pair().map_err(|error| HandOverError::from(error).into());
        match left.and_then(|(channel, kept)| leave_in(&Conversation::new(channel), process).map(|()| kept)) {
            Ok(kept) => {
                manager.keep(LEFT, &kept);
                tracing::info!(event = "left", "left with the service manager, should it start another process");
            }
            Err(error) => {
                let error: P::Error = error;
                tracing::warn!(event = "hand-over-failed", %error, "another process has to begin anew");
            }
        }
    }

    /// Accepts a successor that has connected.
    fn greet(&mut self) {
        match self.door.as_ref().map(Door::accept) {
            Some(Ok(Some(channel))) => {
                let with = Conversation::new(channel);
                self.talk = Some(Talk { with, since: Instant::now(), pid: 0, offered: None });
            }
            Some(Err(error)) => {
                tracing::warn!(event = "hand-over-failed", %error, "a process that may not take over has asked to");
            }
            _ => {}
        }
    }

    /// Offers everything to a process of this name.
    fn offer<P: TakeOver>(
        &mut self,
        running: &mut P,
        manager: &ServiceManager,
        name: &str,
    ) -> Result<(), HandOverError> {
        let (Some(talk), Some(door)) = (&mut self.talk, &self.door) else { return Ok(()) };
        let own = running.name();
        if name != own {
            return Err(HandOverError::Refused(format!("it is {own}")));
        }
        if let Some(why) = running.refusal() {
            return Err(HandOverError::Refused(why));
        }
        let mut offer = running.sockets()?;
        offer.door = Some(door.socket().try_clone_to_owned()?);
        offer.watchdog = manager.limit();
        talk.offered = Some(offer.counted_on());
        offer.state = running.state();
        talk.with.offer(&offer)?;
        tracing::info!(event = "hand-over-offered", pid = talk.pid, "another process prepares to take over");
        Ok(())
    }

    /// Stops, and goes on unless the successor takes over.
    fn hand_over<P: TakeOver>(&mut self, running: &mut P, manager: &mut ServiceManager) -> Result<bool, P::Error> {
        let (Some(talk), Some(door)) = (&self.talk, &mut self.door) else { return Ok(false) };
        let now = running.sockets().map_err(HandOverError::from)?.counted_on();
        if talk.offered.as_ref() != Some(&now) {
            let why = "its sockets or devices have changed meanwhile; try again";
            let _ = talk.with.send(&Message::Refused(why.into()));
            return Ok(false);
        }
        manager.reloading();
        // While the workers still run: it waits for the kernel.
        if let Err(error) = running.withdraw() {
            tracing::warn!(event = "hand-over-failed", %error, "cannot stop for a successor");
            running.restore();
            manager.ready();
            return Ok(false);
        }
        wait::shorten_slice();
        let longest = running.patience();
        let stop = Instant::now();
        let stopped = running.stop()?;
        let stopped_ms = stop.elapsed().as_millis();
        let sent = talk.with.send_stopped(&stopped);
        if sent.is_ok() && talk.with.is_taken(longest.saturating_sub(stop.elapsed())) {
            door.leave();
            manager.main_process(talk.pid);
            let taken_ms = stop.elapsed().as_millis();
            tracing::info!(
                event = "handed-over",
                pid = talk.pid,
                stopped_ms,
                taken_ms,
                "another process has taken over"
            );
            if let Err(error) = talk.with.send_state(&running.last_state()) {
                tracing::warn!(event = "last-state-lost", %error, "the other process begins to count anew");
            }
            return Ok(true);
        }
        // A successor that was too late tries again.
        talk.with.channel().hang_up();
        running.go_on()?;
        if let Err(error) = sent {
            tracing::warn!(event = "hand-over-failed", %error, "cannot stop for a successor");
        }
        manager.ready();
        Ok(false)
    }
}

/// Stops, and writes to the socket what the next process needs.
fn leave_in<P: TakeOver>(talk: &Conversation, process: &mut P) -> Result<(), P::Error> {
    talk.send(&Message::Left { name: process.name(), at_ms: since_boot_ms() })?;
    process.withdraw()?;
    let mut offer = process.sockets().map_err(HandOverError::from)?;
    offer.state = process.state();
    talk.offer(&offer)?;
    talk.send_stopped(&process.stop()?)?;
    Ok(talk.send_state(&process.last_state())?)
}
