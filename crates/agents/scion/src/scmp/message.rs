//! The SCMP messages that a border router sends: <https://docs.scion.org/en/latest/protocols/scmp.html>.

use crate::packet::ia::IsdAs;

/// An SCMP message without its checksum and quote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub kind: Kind,
    /// The bytes between the SCMP header and the quote.
    pub body: Vec<u8>,
}

/// The type and code of an SCMP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// The type. Errors are below 128.
    pub scmp_type: u8,
    /// The code within the type.
    pub code: u8,
}

/// Type of an SCMP message.
pub(super) const DESTINATION_UNREACHABLE: u8 = 1;
/// See [`DESTINATION_UNREACHABLE`].
pub(super) const PACKET_TOO_BIG: u8 = 2;
/// See [`DESTINATION_UNREACHABLE`].
pub(super) const PARAMETER_PROBLEM: u8 = 4;
/// See [`DESTINATION_UNREACHABLE`].
pub(super) const EXTERNAL_INTERFACE_DOWN: u8 = 5;
/// See [`DESTINATION_UNREACHABLE`].
pub(super) const INTERNAL_CONNECTIVITY_DOWN: u8 = 6;
/// See [`DESTINATION_UNREACHABLE`].
pub(super) const ECHO_REQUEST: u8 = 128;
/// See [`DESTINATION_UNREACHABLE`].
pub(super) const TRACEROUTE_REQUEST: u8 = 130;
/// See [`DESTINATION_UNREACHABLE`].
pub(super) const TRACEROUTE_REPLY: u8 = 131;

/// Codes of [`PARAMETER_PROBLEM`].
pub(super) const INVALID_PACKET_SIZE: u8 = 19;
/// See [`INVALID_PACKET_SIZE`].
pub(super) const INVALID_SOURCE: u8 = 33;
/// See [`INVALID_PACKET_SIZE`].
pub(super) const INVALID_DESTINATION: u8 = 34;
/// See [`INVALID_PACKET_SIZE`].
pub(super) const INVALID_PATH: u8 = 48;
/// See [`INVALID_PACKET_SIZE`].
pub(super) const UNKNOWN_INGRESS: u8 = 49;
/// See [`INVALID_PACKET_SIZE`].
pub(super) const UNKNOWN_EGRESS: u8 = 50;
/// See [`INVALID_PACKET_SIZE`].
pub(super) const INVALID_MAC: u8 = 51;
/// See [`INVALID_PACKET_SIZE`].
pub(super) const PATH_EXPIRED: u8 = 52;
/// See [`INVALID_PACKET_SIZE`].
pub(super) const INVALID_SEGMENT_CHANGE: u8 = 53;

impl Kind {
    /// Whether it is an error. Errors are not answered, and quote the packet that caused them.
    pub fn is_error(self) -> bool {
        self.scmp_type < 128
    }

    /// The name for logs and metrics, such as `parameter_problem_51`. It includes the code only for types with several.
    pub fn label(self) -> String {
        let name = match self.scmp_type {
            DESTINATION_UNREACHABLE => "destination_unreachable",
            PACKET_TOO_BIG => "packet_too_big",
            PARAMETER_PROBLEM => return format!("parameter_problem_{}", self.code),
            EXTERNAL_INTERFACE_DOWN => "external_interface_down",
            INTERNAL_CONNECTIVITY_DOWN => "internal_connectivity_down",
            TRACEROUTE_REPLY => "traceroute_reply",
            other => return format!("type_{other}"),
        };
        name.into()
    }
}

fn interface(id: u16) -> [u8; 8] {
    u64::from(id).to_be_bytes()
}

impl Message {
    fn new(scmp_type: u8, code: u8, body: Vec<u8>) -> Message {
        Message { kind: Kind { scmp_type, code }, body }
    }

    /// There is no route to the destination.
    pub(super) fn destination_unreachable() -> Message {
        Message::new(DESTINATION_UNREACHABLE, 0, vec![0; 4])
    }

    /// The packet is longer than the link's MTU. `mtu` is in bytes of SCION packet.
    pub(super) fn packet_too_big(mtu: u16) -> Message {
        Message::new(PACKET_TOO_BIG, 0, [[0; 2], mtu.to_be_bytes()].concat())
    }

    /// A field is invalid; `pointer` is its offset in the packet.
    pub(super) fn parameter_problem(code: u8, pointer: usize) -> Message {
        // A SCION header has at most 1020 bytes.
        Message::new(PARAMETER_PROBLEM, code, [[0; 2], (pointer as u16).to_be_bytes()].concat())
    }

    /// The link to another AS is down.
    pub(super) fn external_interface_down(ia: IsdAs, egress: u16) -> Message {
        Message::new(EXTERNAL_INTERFACE_DOWN, 0, [ia.0.to_be_bytes(), interface(egress)].concat())
    }

    /// The link to another router of the AS is down.
    pub(super) fn internal_connectivity_down(ia: IsdAs, ingress: u16, egress: u16) -> Message {
        let body = [ia.0.to_be_bytes(), interface(ingress), interface(egress)].concat();
        Message::new(INTERNAL_CONNECTIVITY_DOWN, 0, body)
    }

    /// Returns the answer to a traceroute request; `None` if the SCMP message is not one.
    pub(super) fn traceroute_reply(request: &[u8], ia: IsdAs, id: u16) -> Option<Message> {
        // Type, code and checksum; the identifier and sequence number are copied to the answer.
        if request.len() < 24 || request[..2] != [TRACEROUTE_REQUEST, 0] {
            return None;
        }
        let body = [&request[4..8], &ia.0.to_be_bytes(), &interface(id)].concat();
        Some(Message::new(TRACEROUTE_REPLY, 0, body))
    }
}
