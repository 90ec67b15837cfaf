//! What applications and the agent say to each other, as JSON.

use serde::{Deserialize, Serialize};

use crate::efcp::{LONGEST_SDU, Qos};
use crate::name::Name;

/// Longest packet of the socket.
pub(crate) const LONGEST_PACKET: usize = 1 + LONGEST_SDU;

/// The first byte of packets of a flow.
pub(crate) mod packet {
    pub(crate) const SDU: u8 = 0;
    pub(crate) const END: u8 = 1;
}

/// What an application asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// To be found by this name, in a DIF or in all, as long as the connection lasts.
    Register {
        /// The application's name.
        name: Name,
        /// The DIF.
        dif: Option<Name>,
        /// The key of the listener that receives requests for flows; without a key this connection receives them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        listener: Option<String>,
    },
    /// Not to be found any more by a name that was registered for a listener.
    Unregister {
        /// The application's name.
        name: Name,
        /// The DIF that the name was registered in; none: all.
        dif: Option<Name>,
        /// The listener's key.
        listener: String,
    },
    /// To be a listener, which receives requests for flows to the names that other connections register for it.
    Listen,
    /// A flow to another application.
    Allocate {
        /// This application.
        from: Name,
        /// The other one.
        to: Name,
        /// The QoS cube.
        qos: Cube,
        /// The DIF; none: the first that knows the other application.
        dif: Option<Name>,
        /// Packets are SDUs, without the byte that says so.
        #[serde(default)]
        plain: bool,
    },
    /// To accept a flow that a listener has received a request for.
    Accept {
        /// Its key.
        flow: String,
        /// As in [`Request::Allocate`].
        #[serde(default)]
        plain: bool,
    },
    /// To refuse that flow.
    Refuse {
        /// Its key.
        flow: String,
    },
    /// The state of the IPC processes, as JSON in packets until the connection ends.
    Show,
}

/// A QoS cube of a DIF.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a QoS cube, or {\"reliable\": true} or false for the first that is so"
)]
pub enum Cube {
    /// By its name.
    Named(String),
    /// The first cube that retransmits, or that does not.
    First {
        /// Whether it retransmits.
        reliable: bool,
    },
}

impl Cube {
    /// The name of the cube among those of a DIF.
    pub(super) fn name<'a>(&'a self, cubes: &'a [Qos]) -> Result<&'a str, String> {
        match self {
            Cube::Named(name) => Ok(name),
            Cube::First { reliable } => match cubes.iter().find(|cube| cube.reliable == *reliable) {
                Some(cube) => Ok(&cube.name),
                None => Err(format!("the DIF has no QoS cube with `reliable = {reliable}`")),
            },
        }
    }
}

impl From<&str> for Cube {
    fn from(name: &str) -> Cube {
        Cube::Named(name.into())
    }
}

/// What the agent sends to an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is done; a flow is there.
    Done,
    /// A plain flow is there.
    Flow {
        /// The longest SDU that can be sent by it, in bytes.
        longest_sdu: usize,
    },
    /// This connection is a listener.
    Listening {
        /// Its key, by which other connections register names for it.
        listener: String,
    },
    /// It is not done, for this reason.
    Failed(String),
    /// To a listener: somebody asks for a flow.
    Requested {
        /// Its key: whoever has it, and nobody else, accepts or refuses the flow.
        flow: String,
        /// The application that asks.
        from: Name,
        /// The application that was asked for.
        to: Name,
        /// Name of the QoS cube.
        qos: String,
        /// Whether that cube retransmits.
        reliable: bool,
    },
}
