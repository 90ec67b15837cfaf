//! The messages between a running process and the one that takes over from it.
//!
//! Each begins with four fixed bytes and the version, so that processes of different versions can say so. The rest is of this version
//! only. Lists come in parts, because a message and its descriptors are bounded; the receiver bounds their sum.

use std::net::SocketAddr;

use hopwright_host::hand_over::LONGEST;
use serde::{Deserialize, Serialize};

/// The version of the messages. It changes when they do, or what they mean.
pub const VERSION: u16 = 4;
/// How every message begins, in every version.
const MAGIC: [u8; 4] = *b"HWHO";
/// Bytes before the contents.
const HEADER: usize = MAGIC.len() + 2;

/// A packet socket's ring: the size of a slot in bytes, and the number of slots.
pub type RingSize = (u32, u32);

/// An XDP program on a device. The [`VERSION`] changes when the program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Whether the driver runs it.
    pub native: bool,
    /// The device's first place in the map of sockets.
    pub first: u32,
    /// The number of its places.
    pub queues: u32,
    /// Whether it has a map of keys. Without one it takes every frame.
    pub keys: bool,
}

/// The memory of a worker's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The number of frames.
    pub frames: u32,
    /// Bytes before a received packet.
    pub headroom: u32,
    /// Bytes for a packet.
    pub data: u32,
    /// Slots of each ring of AF_XDP sockets on it.
    pub ring: u32,
}

/// A message. The comments name who sends it: the running process or the heir.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Heir: it wants to take over from this process.
    Hello {
        /// Its process.
        pid: u32,
        /// What it is: the kind of agent, and which one of that kind.
        name: String,
    },
    /// Running process: it goes on, for this reason.
    Refused(String),
    /// Running process: the first part of what it offers, with the socket that it was reached by.
    Offer {
        /// The time in microseconds after which the service manager ends a process without a keep-alive; 0 for none.
        watchdog_us: u64,
    },
    /// Running process: addresses of UDP sockets, without zones, with these. Several sockets may share an address.
    Sockets(Vec<SocketAddr>),
    /// Running process: names of further descriptors, with these.
    Descriptors(Vec<String>),
    /// Running process: an open device, with its packet sockets.
    Device {
        /// Its name.
        name: String,
        /// Its interface index.
        index: u32,
        /// The ring of each worker. None if the sockets cannot be taken over.
        rings: Vec<RingSize>,
        /// The ring for urgent datagrams, whose socket follows.
        urgent: Option<RingSize>,
        /// The receive queues of AF_XDP sockets that can be taken over. The sockets follow.
        queues: Vec<u32>,
        /// Its XDP program, whose link, program, map of sockets and, if there is one, map of keys follow the sockets.
        program: Option<Program>,
    },
    /// Running process: it has offered everything.
    Offered,
    /// Heir: it has built everything. The running process is to stop.
    Ready,
    /// Running process: the next part of the agent's state, in its offer as it is, after it has stopped what has changed, and after
    /// [`Message::Taken`] what can wait so long.
    State(Vec<u8>),
    /// Running process, which has stopped: where a device's sockets stand in their rings, or which frames of a worker are free. It may come
    /// in parts.
    Positions {
        /// The device's name, or that of the worker's memory.
        name: String,
        /// By socket; or the numbers of the frames.
        slots: Vec<u32>,
    },
    /// Running process: it has stopped, and goes on unless it hears [`Message::Taken`] soon.
    Stopped,
    /// Heir: it has taken over.
    Taken,
    /// A process that ends, to the one that the service manager starts next: the first of all that it leaves, before its offer.
    Left {
        /// What it is: the kind of agent, and which one of that kind.
        name: String,
        /// When, in milliseconds since the machine started.
        at_ms: u64,
    },
    /// Running process: the memory of the workers' frames, with a file for each, if there are AF_XDP sockets that can be taken over.
    Memory(Vec<Memory>),
}

/// Why bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum DecodeError {
    #[error("what came is no message of a hand-over")]
    Foreign,
    #[error("the other process's version cannot take part: it speaks version {0} of the hand-over, this one {VERSION}")]
    OtherVersion(u16),
    #[error("a message cannot be read: {0}")]
    Malformed(postcard::Error),
}

impl Message {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let header = [&MAGIC[..], &VERSION.to_be_bytes()].concat();
        // Writing to memory cannot fail; a message without contents would be refused by who receives it.
        postcard::to_extend(self, header.clone()).unwrap_or(header)
    }

    /// Reads a message.
    pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
        if bytes.len() < HEADER || bytes.len() > LONGEST || bytes[..4] != MAGIC {
            return Err(DecodeError::Foreign);
        }
        let version = u16::from_be_bytes([bytes[4], bytes[5]]);
        if version != VERSION {
            return Err(DecodeError::OtherVersion(version));
        }
        postcard::from_bytes(&bytes[HEADER..]).map_err(DecodeError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message() -> impl Strategy<Value = Message> {
        let address = any::<(std::net::IpAddr, u16)>().prop_map(SocketAddr::from);
        let addresses = proptest::collection::vec(address, 0..128);
        let rings = proptest::collection::vec(any::<(u32, u32)>(), 0..127);
        prop_oneof![
            (any::<u32>(), ".*").prop_map(|(pid, name)| Message::Hello { pid, name }),
            ".*".prop_map(Message::Refused),
            any::<u64>().prop_map(|watchdog_us| Message::Offer { watchdog_us }),
            addresses.prop_map(Message::Sockets),
            proptest::collection::vec(".*", 0..4).prop_map(Message::Descriptors),
            (
                ".*",
                any::<u32>(),
                rings,
                any::<Option<(u32, u32)>>(),
                any::<Vec<u32>>(),
                any::<Option<(bool, u32, u32, bool)>>()
            )
                .prop_map(|(name, index, rings, urgent, queues, program)| {
                    let program = program.map(|(native, first, queues, keys)| Program { native, first, queues, keys });
                    Message::Device { name, index, rings, urgent, queues, program }
                }),
            proptest::collection::vec(any::<(u32, u32, u32, u32)>(), 0..9).prop_map(|all| {
                let memory = |(frames, headroom, data, ring)| Memory { frames, headroom, data, ring };
                Message::Memory(all.into_iter().map(memory).collect())
            }),
            any::<Vec<u8>>().prop_map(Message::State),
            (".*", any::<Vec<u32>>()).prop_map(|(name, slots)| Message::Positions { name, slots }),
            Just(Message::Offered),
            Just(Message::Ready),
            Just(Message::Stopped),
            Just(Message::Taken),
            (".*", any::<u64>()).prop_map(|(name, at_ms)| Message::Left { name, at_ms }),
        ]
    }

    proptest! {
        #[test]
        fn messages_are_read_as_they_were_written(message in message()) {
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }

        #[test]
        fn any_bytes_are_a_message_or_an_error(contents in any::<Vec<u8>>(), cut in any::<usize>(), message in message()) {
            let _ = Message::decode(&contents);
            let _ = Message::decode(&[&MAGIC[..], &VERSION.to_be_bytes(), &contents].concat());
            let mut bytes = message.encode();
            bytes.truncate(cut % (bytes.len() + 1));
            let _ = Message::decode(&bytes);
            if let (Some(last), Some(byte)) = (bytes.last_mut(), contents.first()) {
                *last ^= byte;
                let _ = Message::decode(&bytes);
            }
        }
    }

    #[test]
    fn other_versions_are_told_apart_from_others() {
        let mut bytes = Message::Ready.encode();
        bytes[5] += 1;
        let error = Message::decode(&bytes).unwrap_err();
        assert_eq!(error, DecodeError::OtherVersion(VERSION + 1));
        assert!(error.to_string().contains("version 5 of the hand-over, this one 4"));
        bytes[0] ^= 1;
        assert_eq!(Message::decode(&bytes), Err(DecodeError::Foreign));
        assert_eq!(Message::decode(b"HWHO"), Err(DecodeError::Foreign));
        assert!(matches!(Message::decode(&Message::Ready.encode()[..6]), Err(DecodeError::Malformed(_))));
    }
}
