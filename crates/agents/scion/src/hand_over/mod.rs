//! A router hands its work over to another process of the same router: after a package was upgraded, or with a configuration that
//! needs a restart. No packet is lost or doubled, and BFD sessions go on.
//!
//! The running router listens at a [`Door`]. Its *heir* connects, and gets duplicates of the sockets that packets wait in: UDP
//! sockets, packet sockets with their rings, HTTP servers' sockets. It builds everything else and says that it is [`Message::Ready`].
//! The running router then stops, and tells where it has stopped: the rings' positions and the BFD sessions. It has stopped for good when
//! the heir's last message, [`Message::Taken`], reaches it; if that does not come in time, it hangs up, so that the heir cannot send
//! it any more, and goes on. Exactly one of the two therefore reads the sockets at any time. The heir, which has everything but the
//! work, connects again a while later, if the sockets are still the same ([`Offer::identity`]).
//!
//! The agent decides what is offered and used. This module has the [messages](message) and the conversation.

pub mod message;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopwright_host::hand_over::{Channel, Door, MOST_DESCRIPTORS};
use hopwright_ports::{RingSize, SharedDevice, SharedProgram, SharedRing, XdpMode};

use crate::bfd::SavedSession;
use message::{DecodeError, Message, Program};

/// How long the heir waits for each message of the running router, which goes on with its work meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);
/// More of each than a router has.
const MOST: usize = 1 << 16;
/// Sessions in a message.
const SESSIONS_AT_ONCE: usize = 256;
/// Descriptors of an XDP program: link, program and maps.
const PROGRAM_DESCRIPTORS: usize = 4;

/// Why a router does not take over from another one, or does not hand over to it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum HandOverError {
    #[error("{}: no router can be reached: {source}", path.display())]
    Connect { path: PathBuf, source: io::Error },
    #[error("{}: cannot listen for a successor: {source}", path.display())]
    Listen { path: PathBuf, source: io::Error },
    #[error("cannot talk to the other router: {0}")]
    Talk(#[from] io::Error),
    #[error("the other router has hung up")]
    HungUp,
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("the running router refuses: {0}")]
    Refused(String),
    #[error("the other router has sent something out of turn")]
    OutOfTurn,
    #[error("what the running router offers does not fit together: {0}")]
    Unsound(&'static str),
}

impl HandOverError {
    /// Whether the conversation broke off, as when the running router waits no longer: another attempt may succeed.
    pub fn is_broken_off(&self) -> bool {
        match self {
            HandOverError::HungUp => true,
            HandOverError::Talk(error) => {
                matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
            }
            _ => false,
        }
    }
}

/// What a running router offers to its heir.
#[derive(Debug, Default)]
pub struct Offer {
    /// The socket that it listens at.
    pub door: Option<OwnedFd>,
    /// After this time without a keep-alive the service manager ends the process.
    pub watchdog: Option<Duration>,
    /// UDP sockets with their addresses.
    pub sockets: Vec<(SocketAddr, OwnedFd)>,
    /// HTTP servers' sockets, with their addresses as configured.
    pub listeners: Vec<(String, OwnedFd)>,
    /// Devices with their packet sockets.
    pub devices: Vec<SharedDevice>,
    /// BFD sessions as they are now. They go on until the running router stops.
    pub sessions: Vec<SavedSession>,
}

/// Where a running router has stopped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoppedAt {
    /// BFD sessions.
    pub sessions: Vec<SavedSession>,
    /// The positions of packet sockets in their rings, by name of the device.
    pub positions: Vec<(String, Vec<u32>)>,
}

/// One side of the conversation.
#[derive(Debug)]
pub struct Conversation(Channel);

impl Conversation {
    /// Talks by a channel.
    pub fn new(channel: Channel) -> Conversation {
        Conversation(channel)
    }

    /// The channel.
    pub fn channel(&self) -> &Channel {
        &self.0
    }

    /// Sends a message.
    pub fn send(&self, message: &Message) -> Result<(), HandOverError> {
        self.send_with(message, &[])
    }

    fn send_with(&self, message: &Message, descriptors: &[BorrowedFd<'_>]) -> Result<(), HandOverError> {
        Ok(self.0.send(&message.encode(), descriptors)?)
    }

    /// Waits for the next message. `None`: none has come in this time.
    pub fn receive(&self, patience: Duration) -> Result<Option<(Message, Vec<OwnedFd>)>, HandOverError> {
        match self.0.receive(patience) {
            Ok(Some((bytes, descriptors))) => Ok(Some((Message::decode(&bytes)?, descriptors))),
            Ok(None) => Err(HandOverError::HungUp),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Offers everything: the running router's side.
    pub fn offer(&self, offer: &Offer) -> Result<(), HandOverError> {
        let watchdog_us = offer.watchdog.map_or(0, |time| time.as_micros() as u64);
        let door: Vec<_> = offer.door.iter().map(AsFd::as_fd).collect();
        self.send_with(&Message::Offer { watchdog_us }, &door)?;
        for part in offer.sockets.chunks(MOST_DESCRIPTORS) {
            let (addresses, sockets) = part.iter().map(|(address, socket)| (*address, socket.as_fd())).unzip();
            let sockets: Vec<BorrowedFd<'_>> = sockets;
            self.send_with(&Message::Sockets(addresses), &sockets)?;
        }
        for (address, listener) in &offer.listeners {
            self.send_with(&Message::Listeners(vec![address.clone()]), &[listener.as_fd()])?;
        }
        for device in &offer.devices {
            let usable = device.rings.len() + 1 + PROGRAM_DESCRIPTORS <= MOST_DESCRIPTORS;
            let rings: &[SharedRing] = if usable { &device.rings } else { &[] };
            let urgent = device.urgent.as_ref().filter(|_| usable);
            let size = |ring: &SharedRing| (ring.size.slot, ring.size.slots);
            let mut descriptors: Vec<_> = rings.iter().chain(urgent).map(|ring| ring.socket.as_fd()).collect();
            let program = device.program.as_ref().map(|shared| {
                let all = [&shared.link, &shared.program, &shared.sockets, &shared.keys];
                descriptors.extend(all.map(AsFd::as_fd));
                let (first, queues) = shared.part;
                Program { native: shared.mode == XdpMode::Native, first, queues }
            });
            let message = Message::Device {
                name: device.name.clone(),
                index: device.index,
                rings: rings.iter().map(size).collect(),
                urgent: urgent.map(size),
                program,
            };
            self.send_with(&message, &descriptors)?;
        }
        self.send_sessions(&offer.sessions)?;
        self.send(&Message::Offered)
    }

    fn send_sessions(&self, sessions: &[SavedSession]) -> Result<(), HandOverError> {
        sessions.chunks(SESSIONS_AT_ONCE).try_for_each(|part| self.send(&Message::Sessions(part.to_vec())))
    }

    /// Tells where it has stopped: the running router's side.
    pub fn send_stopped(&self, stopped: &StoppedAt) -> Result<(), HandOverError> {
        self.send_sessions(&stopped.sessions)?;
        for (name, slots) in &stopped.positions {
            self.send(&Message::Positions { name: name.clone(), slots: slots.clone() })?;
        }
        self.send(&Message::Stopped)
    }

    /// Waits for the heir's last message, at most for this time. If it does not come, the heir cannot send it any more.
    pub fn is_taken(&self, patience: Duration) -> bool {
        if matches!(self.receive(patience), Ok(Some((Message::Taken, _)))) {
            return true;
        }
        self.0.hang_up();
        matches!(self.receive(Duration::ZERO), Ok(Some((Message::Taken, _))))
    }

    /// Connects to the running router, and returns what it offers: the heir's side.
    pub fn begin(path: &Path, id: &str, ia: u64) -> Result<(Conversation, Offer), HandOverError> {
        let connected = Channel::connect(path);
        let channel = connected.map_err(|source| HandOverError::Connect { path: path.to_path_buf(), source })?;
        let talk = Conversation(channel);
        talk.send(&Message::Hello { pid: std::process::id(), id: id.into(), ia })?;
        let mut offer = Offer::default();
        loop {
            let (message, descriptors) = talk.hear_in_time()?;
            if message == Message::Offered {
                return Ok((talk, offer));
            }
            offer.add(message, descriptors)?;
        }
    }

    /// Has the running router stop, and returns where it has: the heir's side.
    pub fn have_it_stop(&self) -> Result<StoppedAt, HandOverError> {
        self.send(&Message::Ready)?;
        let mut stopped = StoppedAt::default();
        loop {
            match self.hear_in_time()?.0 {
                Message::Stopped => return Ok(stopped),
                Message::Sessions(sessions) => stopped.sessions.extend(sessions),
                Message::Positions { name, slots } => stopped.positions.push((name, slots)),
                Message::Refused(why) => return Err(HandOverError::Refused(why)),
                _ => return Err(HandOverError::OutOfTurn),
            }
            if stopped.sessions.len() > MOST || stopped.positions.len() > MOST {
                return Err(HandOverError::Unsound("too many sessions or devices"));
            }
        }
    }

    fn hear_in_time(&self) -> Result<(Message, Vec<OwnedFd>), HandOverError> {
        self.receive(PATIENCE)?.ok_or_else(|| io::Error::from(io::ErrorKind::TimedOut).into())
    }

    /// Whether the other side has gone.
    pub fn has_ended(&self) -> bool {
        !matches!(self.receive(Duration::ZERO), Ok(None))
    }
}

impl Offer {
    /// Adds what a message offers.
    fn add(&mut self, message: Message, descriptors: Vec<OwnedFd>) -> Result<(), HandOverError> {
        let count = descriptors.len();
        let mut descriptors = descriptors.into_iter();
        match message {
            Message::Offer { watchdog_us } => {
                self.watchdog = Some(Duration::from_micros(watchdog_us)).filter(|time| !time.is_zero());
                self.door = descriptors.next();
            }
            Message::Sockets(addresses) if addresses.len() == count => {
                self.sockets.extend(addresses.into_iter().zip(descriptors));
            }
            Message::Listeners(addresses) if addresses.len() == count => {
                self.listeners.extend(addresses.into_iter().zip(descriptors));
            }
            Message::Device { name, index, rings, urgent, program }
                if rings.len()
                    + usize::from(urgent.is_some())
                    + PROGRAM_DESCRIPTORS * usize::from(program.is_some())
                    == count =>
            {
                let ring = |((slot, slots), socket)| SharedRing { socket, size: RingSize { slot, slots } };
                let rings = rings.into_iter().zip(&mut descriptors).map(ring).collect();
                let urgent = urgent.into_iter().zip(&mut descriptors).map(ring).next();
                let program = program
                    .and_then(|program| Some(with_program(program, descriptors.collect::<Vec<_>>().try_into().ok()?)));
                self.devices.push(SharedDevice { name, index, rings, urgent, program });
            }
            Message::Sessions(sessions) => self.sessions.extend(sessions),
            Message::Refused(why) => return Err(HandOverError::Refused(why)),
            Message::Sockets(_) | Message::Listeners(_) | Message::Device { .. } => {
                return Err(HandOverError::Unsound("a message has not the descriptors that it names"));
            }
            _ => return Err(HandOverError::OutOfTurn),
        }
        let counts = [self.sockets.len(), self.listeners.len(), self.devices.len(), self.sessions.len()];
        if counts.iter().any(|count| *count > MOST) {
            return Err(HandOverError::Unsound("too many sockets, devices or sessions"));
        }
        Ok(())
    }

    /// What tells its UDP and packet sockets from others: their inode numbers. Two offers with the same have duplicates of the same
    /// sockets.
    pub fn identity(&self) -> io::Result<Vec<u64>> {
        let rings = self.devices.iter().flat_map(|device| device.rings.iter().chain(&device.urgent));
        let sockets = self.sockets.iter().map(|(_, socket)| socket).chain(rings.map(|ring| &ring.socket));
        let inode = |socket: &OwnedFd| Ok(File::from(socket.try_clone()?).metadata()?.ino());
        let mut inodes = sockets.map(inode).collect::<io::Result<Vec<u64>>>()?;
        inodes.sort_unstable();
        Ok(inodes)
    }
}

fn with_program(program: Program, descriptors: [OwnedFd; PROGRAM_DESCRIPTORS]) -> SharedProgram {
    let [link, of_program, sockets, keys] = descriptors;
    let mode = if program.native { XdpMode::Native } else { XdpMode::Generic };
    SharedProgram { mode, link, program: of_program, sockets, keys, part: (program.first, program.queues) }
}

/// Listens at a path for a successor.
pub fn open_door(path: &Path) -> Result<Door, HandOverError> {
    Door::open(path).map_err(|source| HandOverError::Listen { path: path.to_path_buf(), source })
}

#[cfg(test)]
mod tests;
