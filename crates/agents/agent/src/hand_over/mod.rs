//! A process hands its work over to another one that does the same: after a package was upgraded, or with settings that need a
//! restart. No packet is lost or doubled.
//!
//! The running process listens at a [`Door`]. Its *heir* connects, and gets duplicates of what packets wait in: UDP sockets, packet
//! sockets with their rings, TAP devices, and servers' sockets; and the agent's state. It builds everything else and says that it is
//! [`Message::Ready`]. The running process then stops, and tells where it has stopped: the rings' positions, and what has changed of
//! the state. It has stopped for good when the heir's last message, [`Message::Taken`], reaches it; if that does not come in time, it
//! hangs up, so that the heir cannot send it any more, and goes on. Exactly one of the two therefore reads the sockets at any time. The
//! heir, which has everything but the work, connects again a while later, if the sockets are still the same ([`Offer::identity`]).
//!
//! A process that is told to end writes the same messages into a socket that the service manager keeps, and waits for no answers. If the
//! service manager starts another process in its place, that one reads them ([`Life`]).
//!
//! This module has the [messages](message), the conversation, and the [`Life`] of a process between its predecessor and its successor.
//! What is offered and used is up to the process ([`TakeOver`]).

mod heir;
mod life;
pub mod message;
mod successors;
mod take_over;
mod workers;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopwright_dataplane::FrameSize;
use hopwright_host::hand_over::{Channel, Door, LONGEST, MOST_DESCRIPTORS};
use hopwright_ports::{
    Opener, Reception, RingSize, SharedDevice, SharedMemory, SharedProgram, SharedQueue, SharedRing, XdpMode,
};

pub use heir::Heir;
pub use life::{HandOver, Life};
use message::{DecodeError, Memory, Message, Program};
pub use take_over::TakeOver;
pub use workers::{Panicked, Workers};

/// How long the heir waits for each message of the running process, which goes on with its work meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);
/// More of each than a process has.
const MOST: usize = 1 << 16;
/// More bytes of state than an agent has.
const MOST_STATE: usize = 1 << 30;
/// Bytes of state in a message.
const PART: usize = LONGEST - 64;
/// What is left for a process that starts later than this is of no use: packets are old, and neighbours have noticed.
const LEFT_TIME: Duration = Duration::from_secs(30);
/// The name under which the service manager keeps what a process leaves.
const LEFT: &str = "hand-over";
/// The most descriptors of an XDP program: link, program and maps.
const PROGRAM_DESCRIPTORS: usize = 4;
/// How the names of workers' memories among positions begin. No device has such a name.
const FREE_FRAMES: &str = "free frames ";
/// The most positions in a message.
const POSITIONS: usize = 10_000;

/// Why a process does not take over from another one, or does not hand over to it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum HandOverError {
    #[error("{}: no running process can be reached: {source}", path.display())]
    Connect { path: PathBuf, source: io::Error },
    #[error("{}: cannot listen for a successor: {source}", path.display())]
    Listen { path: PathBuf, source: io::Error },
    #[error("cannot talk to the other process: {0}")]
    Talk(#[from] io::Error),
    #[error("the other process has hung up")]
    HungUp,
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("the running process refuses: {0}")]
    Refused(String),
    #[error("the other process has sent something out of turn")]
    OutOfTurn,
    #[error("what the running process offers does not fit together: {0}")]
    Unsound(&'static str),
}

impl HandOverError {
    /// Whether the conversation broke off, as when the running process waits no longer: another attempt may succeed.
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

/// What a running process offers to its heir.
#[derive(Debug, Default)]
pub struct Offer {
    /// The socket that it listens at.
    pub door: Option<OwnedFd>,
    /// After this time without a keep-alive the service manager ends the process.
    pub watchdog: Option<Duration>,
    /// UDP sockets with their addresses.
    pub sockets: Vec<(SocketAddr, OwnedFd)>,
    /// Further descriptors by their names: servers' sockets, TAP devices.
    pub descriptors: Vec<(String, OwnedFd)>,
    /// Devices with their packet sockets, or AF_XDP sockets.
    pub devices: Vec<SharedDevice>,
    /// The memory of the workers' frames, if there are AF_XDP sockets.
    pub memory: Vec<SharedMemory>,
    /// The agent's state as it is now. It goes on until the running process stops.
    pub state: Vec<u8>,
}

/// Where a running process has stopped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoppedAt {
    /// What has changed of the agent's state since the offer.
    pub state: Vec<u8>,
    /// The positions of packet sockets in their rings, by name of the device; and the free frames of workers' memories.
    pub positions: Vec<(String, Vec<u32>)>,
}

/// See [`Offer::counted_on`].
type CountedOn = (Vec<SocketAddr>, Vec<(String, u32, usize)>);

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

    /// Offers everything: the running process's side.
    pub fn offer(&self, offer: &Offer) -> Result<(), HandOverError> {
        let watchdog_us = offer.watchdog.map_or(0, |time| time.as_micros() as u64);
        let door: Vec<_> = offer.door.iter().map(AsFd::as_fd).collect();
        self.send_with(&Message::Offer { watchdog_us }, &door)?;
        for part in offer.sockets.chunks(MOST_DESCRIPTORS) {
            let (addresses, sockets) = part.iter().map(|(address, socket)| (*address, socket.as_fd())).unzip();
            let sockets: Vec<BorrowedFd<'_>> = sockets;
            self.send_with(&Message::Sockets(addresses), &sockets)?;
        }
        for part in offer.descriptors.chunks(MOST_DESCRIPTORS) {
            let (names, descriptors) = part.iter().map(|(name, one)| (name.clone(), one.as_fd())).unzip();
            let descriptors: Vec<BorrowedFd<'_>> = descriptors;
            self.send_with(&Message::Descriptors(names), &descriptors)?;
        }
        for device in &offer.devices {
            let usable = device.rings.len() + device.queues.len() + 1 + PROGRAM_DESCRIPTORS <= MOST_DESCRIPTORS;
            let rings: &[SharedRing] = if usable { &device.rings } else { &[] };
            let queues: &[SharedQueue] = if usable { &device.queues } else { &[] };
            let urgent = device.urgent.as_ref().filter(|_| usable);
            let size = |ring: &SharedRing| (ring.size.slot, ring.size.slots);
            let mut descriptors: Vec<_> = rings.iter().chain(urgent).map(|ring| ring.socket.as_fd()).collect();
            descriptors.extend(queues.iter().map(|queue| queue.socket.as_fd()));
            let program = device.program.as_ref().map(|shared| {
                descriptors.extend([&shared.link, &shared.program, &shared.sockets].map(AsFd::as_fd));
                descriptors.extend(shared.keys.iter().map(AsFd::as_fd));
                let (first, queues) = shared.part;
                Program { native: shared.mode == XdpMode::Native, first, queues, keys: shared.keys.is_some() }
            });
            let message = Message::Device {
                name: device.name.clone(),
                index: device.index,
                rings: rings.iter().map(size).collect(),
                urgent: urgent.map(size),
                queues: queues.iter().map(|queue| queue.id).collect(),
                program,
            };
            self.send_with(&message, &descriptors)?;
        }
        for part in offer.memory.chunks(MOST_DESCRIPTORS) {
            let of = |memory: &SharedMemory| {
                let FrameSize { headroom, data } = memory.size;
                Memory { frames: memory.frames, headroom, data, ring: memory.ring }
            };
            let files: Vec<_> = part.iter().map(|memory| memory.file.as_fd()).collect();
            self.send_with(&Message::Memory(part.iter().map(of).collect()), &files)?;
        }
        self.send_state(&offer.state)?;
        self.send(&Message::Offered)
    }

    /// Sends state of the agent: the running process's side.
    pub fn send_state(&self, state: &[u8]) -> Result<(), HandOverError> {
        state.chunks(PART).try_for_each(|part| self.send(&Message::State(part.to_vec())))
    }

    /// Tells where it has stopped: the running process's side.
    pub fn send_stopped(&self, stopped: &StoppedAt) -> Result<(), HandOverError> {
        self.send_state(&stopped.state)?;
        for (name, slots) in &stopped.positions {
            for part in slots.chunks(POSITIONS) {
                self.send(&Message::Positions { name: name.clone(), slots: part.to_vec() })?;
            }
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

    /// Connects to the running process, and returns what it offers: the heir's side. `name` is what both are.
    pub fn begin(path: &Path, name: &str) -> Result<(Conversation, Offer), HandOverError> {
        let connected = Channel::connect(path);
        let channel = connected.map_err(|source| HandOverError::Connect { path: path.to_path_buf(), source })?;
        let talk = Conversation(channel);
        talk.send(&Message::Hello { pid: std::process::id(), name: name.into() })?;
        let offer = talk.hear_offer()?;
        Ok((talk, offer))
    }

    fn hear_offer(&self) -> Result<Offer, HandOverError> {
        let mut offer = Offer::default();
        loop {
            let (message, descriptors) = self.hear_in_time()?;
            if message == Message::Offered {
                return Ok(offer);
            }
            offer.add(message, descriptors)?;
        }
    }

    /// Reads what a process of this name has left before it ended. If it is of no use it is closed: sockets that wait in the messages would still
    /// listen, and the service manager has a duplicate of the descriptor by which they come.
    fn left(socket: OwnedFd, name: &str) -> Result<(Conversation, Offer, StoppedAt), HandOverError> {
        let talk = Conversation(Channel::kept(socket)?);
        match talk.hear_left(name) {
            Ok((offer, stopped)) => Ok((talk, offer, stopped)),
            Err(error) => {
                while matches!(talk.0.receive(Duration::ZERO), Ok(Some(_))) {}
                Err(error)
            }
        }
    }

    fn hear_left(&self, name: &str) -> Result<(Offer, StoppedAt), HandOverError> {
        let (Message::Left { name: its, at_ms }, _) = self.hear_in_time()? else {
            return Err(HandOverError::OutOfTurn);
        };
        if its != name {
            return Err(HandOverError::Refused(format!("it was {its}")));
        }
        if since_boot_ms().saturating_sub(at_ms) > LEFT_TIME.as_millis() as u64 {
            return Err(HandOverError::Unsound("it is too old"));
        }
        Ok((self.hear_offer()?, self.hear_stopped()?))
    }

    /// Has the running process stop, and returns where it has: the heir's side.
    pub fn have_it_stop(&self) -> Result<StoppedAt, HandOverError> {
        self.send(&Message::Ready)?;
        self.hear_stopped()
    }

    fn hear_stopped(&self) -> Result<StoppedAt, HandOverError> {
        let mut stopped = StoppedAt::default();
        loop {
            match self.hear_in_time()?.0 {
                Message::Stopped => return Ok(stopped),
                Message::State(part) => stopped.state.extend(part),
                Message::Positions { name, slots } => match stopped.positions.last_mut() {
                    Some((last, all)) if *last == name && all.len() < MOST => all.extend(slots),
                    _ => stopped.positions.push((name, slots)),
                },
                Message::Refused(why) => return Err(HandOverError::Refused(why)),
                _ => return Err(HandOverError::OutOfTurn),
            }
            if stopped.state.len() > MOST_STATE || stopped.positions.len() > MOST {
                return Err(HandOverError::Unsound("too much state, or too many devices"));
            }
        }
    }

    fn hear_in_time(&self) -> Result<(Message, Vec<OwnedFd>), HandOverError> {
        self.receive(PATIENCE)?.ok_or_else(|| io::Error::from(io::ErrorKind::TimedOut).into())
    }

    /// Whether the other side has gone. Until then, adds to `state` what it sends after it has stopped.
    pub fn has_ended(&self, state: &mut Vec<u8>) -> bool {
        loop {
            match self.receive(Duration::ZERO) {
                Ok(None) => return false,
                Ok(Some((Message::State(part), _))) if state.len() < MOST_STATE => state.extend(part),
                _ => return true,
            }
        }
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
            Message::Descriptors(names) if names.len() == count => {
                self.descriptors.extend(names.into_iter().zip(descriptors));
            }
            Message::Device { name, index, rings, urgent, queues, program }
                if rings.len()
                    + usize::from(urgent.is_some())
                    + queues.len()
                    + program.map_or(0, |program| PROGRAM_DESCRIPTORS - usize::from(!program.keys))
                    == count =>
            {
                let ring = |((slot, slots), socket)| SharedRing { socket, size: RingSize { slot, slots } };
                let rings = rings.into_iter().zip(&mut descriptors).map(ring).collect();
                let urgent = urgent.into_iter().zip(&mut descriptors).map(ring).next();
                let queues = queues.into_iter().zip(&mut descriptors);
                let queues = queues.map(|(id, socket)| SharedQueue { id, socket }).collect();
                let program = program.and_then(|program| with_program(program, descriptors));
                self.devices.push(SharedDevice { name, index, rings, urgent, queues, program });
            }
            Message::Memory(all) if all.len() == count => {
                let of = |(Memory { frames, headroom, data, ring }, file)| {
                    let size = FrameSize { headroom, data };
                    SharedMemory { file, frames, size, ring }
                };
                self.memory.extend(all.into_iter().zip(descriptors).map(of));
            }
            Message::State(part) => self.state.extend(part),
            Message::Refused(why) => return Err(HandOverError::Refused(why)),
            Message::Sockets(_) | Message::Descriptors(_) | Message::Device { .. } | Message::Memory(_) => {
                return Err(HandOverError::Unsound("a message has not the descriptors that it names"));
            }
            _ => return Err(HandOverError::OutOfTurn),
        }
        let counts = [self.sockets.len(), self.descriptors.len(), self.devices.len(), self.memory.len()];
        if counts.iter().any(|count| *count > MOST) || self.state.len() > MOST_STATE {
            return Err(HandOverError::Unsound("too many sockets or devices, or too much state"));
        }
        Ok(())
    }

    /// What a successor counts on: addresses of UDP sockets, and devices with the number of their packet sockets.
    fn counted_on(&self) -> CountedOn {
        let mut addresses: Vec<SocketAddr> = self.sockets.iter().map(|(address, _)| *address).collect();
        addresses.sort_unstable();
        let of = |device: &SharedDevice| (device.name.clone(), device.index, device.rings.len() + device.queues.len());
        let mut devices: Vec<_> = self.devices.iter().map(of).collect();
        devices.sort_unstable();
        (addresses, devices)
    }

    /// Takes the descriptor of this name.
    pub fn take_descriptor(&mut self, name: &str) -> Option<OwnedFd> {
        let at = self.descriptors.iter().position(|(other, _)| other == name)?;
        Some(self.descriptors.swap_remove(at).1)
    }

    /// What tells its UDP and packet sockets from others: their inode numbers. Two offers with the same have duplicates of the same
    /// sockets.
    pub fn identity(&self) -> io::Result<Vec<u64>> {
        let rings = self.devices.iter().flat_map(|device| device.rings.iter().chain(&device.urgent));
        let queues = self.devices.iter().flat_map(|device| &device.queues).map(|queue| &queue.socket);
        let sockets = self.sockets.iter().map(|(_, socket)| socket).chain(rings.map(|ring| &ring.socket)).chain(queues);
        let inode = |socket: &OwnedFd| Ok(File::from(socket.try_clone()?).metadata()?.ino());
        let mut inodes = sockets.map(inode).collect::<io::Result<Vec<u64>>>()?;
        inodes.sort_unstable();
        Ok(inodes)
    }
}

fn with_program(program: Program, mut descriptors: impl Iterator<Item = OwnedFd>) -> Option<SharedProgram> {
    let mode = if program.native { XdpMode::Native } else { XdpMode::Generic };
    Some(SharedProgram {
        mode,
        link: descriptors.next()?,
        program: descriptors.next()?,
        sockets: descriptors.next()?,
        keys: descriptors.next(),
        part: (program.first, program.queues),
    })
}

/// Why the ports of a process that takes every frame cannot be taken over, if that is so.
pub fn refusal_of_ports(opener: &Opener) -> Option<String> {
    let devices = opener.share().ok()?;
    let without = devices.iter().find(|device| device.rings.is_empty() && device.queues.is_empty())?;
    Some(format!("{}: its sockets cannot be taken over", without.name))
}

/// Where the ports and the workers of a process that takes every frame have stopped.
pub fn positions(opener: &Opener, workers: &Workers) -> Vec<(String, Vec<u32>)> {
    let free = |(worker, free): (usize, &[u32])| (format!("{FREE_FRAMES}{worker}"), free.to_vec());
    opener.positions().into_iter().chain(workers.free_frames().enumerate().map(free)).collect()
}

/// The time in milliseconds since the machine started, with the time in which it slept.
fn since_boot_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Has devices begin where those of a predecessor have stopped.
pub fn begin_at(opener: &Opener, stopped: &StoppedAt) {
    for (device, slots) in &stopped.positions {
        if let Some(worker) = device.strip_prefix(FREE_FRAMES).and_then(|number| number.parse().ok()) {
            opener.begin_with(worker, slots);
        } else if !opener.begin_at(device, slots) {
            tracing::info!(event = "device-gone", device, "a device that this process does not have any more");
        }
    }
}

/// Duplicates of descriptors with names.
///
/// # Errors
/// The system has no more descriptors.
pub fn duplicates(named: &[(String, OwnedFd)]) -> io::Result<Vec<(String, OwnedFd)>> {
    named.iter().map(|(name, descriptor)| Ok((name.clone(), descriptor.try_clone()?))).collect()
}

/// What keeps devices receiving until a successor does, as descriptors with names that nothing else has.
///
/// # Errors
/// The system has no more descriptors.
pub fn of_receptions<'a>(receptions: impl IntoIterator<Item = &'a Reception>) -> io::Result<Vec<(String, OwnedFd)>> {
    receptions
        .into_iter()
        .map(|reception| Ok((format!("reception:{}", reception.device()), reception.share()?)))
        .collect()
}

/// The name under which the service manager keeps a descriptor of the process with this name ([`TakeOver::lasts`]).
fn lasting_name(process: &str, descriptor: &str) -> String {
    format!("{process}/{descriptor}")
}

/// Listens at a path for a successor.
fn open_door(path: &Path) -> Result<Door, HandOverError> {
    Door::open(path).map_err(|source| HandOverError::Listen { path: path.to_path_buf(), source })
}

#[cfg(test)]
mod tests;
