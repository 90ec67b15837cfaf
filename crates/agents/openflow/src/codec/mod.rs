//! Messages of OpenFlow 1.0 (wire version 1) and 1.3 (wire version 4).
//!
//! Both versions are read into, and written from, the same types, which have the meaning and the numbers of 1.3. What only 1.0
//! has is named there. The layouts are those of the OpenFlow Switch Specification, versions 1.0.0 and 1.3.5.

pub(crate) mod action;
pub(crate) mod bytes;
pub(crate) mod field;
pub(crate) mod matching;
pub(crate) mod refusal;
pub(crate) mod reply;
pub(crate) mod request;

pub(crate) use action::{Action, Instructions};
pub(crate) use field::Field;
pub(crate) use matching::{Key, Match};
pub(crate) use refusal::Refusal;
pub(crate) use reply::Replies;
pub(crate) use request::Request;

/// Bytes of the header of every message.
pub(crate) const HEADER: usize = 8;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Version {
    /// OpenFlow 1.0.
    #[serde(rename = "1.0")]
    V10,
    /// OpenFlow 1.3.
    #[serde(rename = "1.3")]
    V13,
}

impl Version {
    /// The number in messages.
    pub(crate) fn wire(self) -> u8 {
        match self {
            Version::V10 => 1,
            Version::V13 => 4,
        }
    }

    pub(crate) fn of_wire(wire: u8) -> Option<Version> {
        [Version::V10, Version::V13].into_iter().find(|version| version.wire() == wire)
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub version: u8,
    pub kind: u8,
    /// Bytes of the message with this header.
    pub length: u16,
    pub xid: u32,
}

impl Header {
    pub(crate) fn read(bytes: &[u8; HEADER]) -> Header {
        let [version, kind, l0, l1, x0, x1, x2, x3] = *bytes;
        Header { version, kind, length: u16::from_be_bytes([l0, l1]), xid: u32::from_be_bytes([x0, x1, x2, x3]) }
    }
}

/// Port numbers with a meaning of their own; the same in 1.0 in 16 bits.
pub(crate) mod port {
    pub(crate) const IN_PORT: u32 = 0xffff_fff8;
    pub(crate) const TABLE: u32 = 0xffff_fff9;
    pub(crate) const NORMAL: u32 = 0xffff_fffa;
    pub(crate) const FLOOD: u32 = 0xffff_fffb;
    pub(crate) const ALL: u32 = 0xffff_fffc;
    pub(crate) const CONTROLLER: u32 = 0xffff_fffd;
    pub(crate) const LOCAL: u32 = 0xffff_fffe;
    pub(crate) const ANY: u32 = 0xffff_ffff;
    /// The first of them in 1.0.
    pub(crate) const RESERVED_10: u16 = 0xff00;

    /// A number of 1.0.
    pub(crate) fn of_10(port: u16) -> u32 {
        if port >= RESERVED_10 { 0xffff_0000 | u32::from(port) } else { port.into() }
    }
}

/// Every group (`OFPG_ALL`), and any or none (`OFPG_ANY`).
pub(crate) const GROUP_ALL: u32 = 0xffff_fffc;
pub(crate) const GROUP_ANY: u32 = 0xffff_ffff;
/// The largest number of a meter (`OFPM_MAX`), and every meter (`OFPM_ALL`).
pub(crate) const METER_MAX: u32 = 0xffff_0000;
pub(crate) const METER_ALL: u32 = 0xffff_ffff;
/// Every queue (`OFPQ_ALL`).
pub(crate) const QUEUE_ALL: u32 = 0xffff_ffff;
/// Every table (`OFPTT_ALL`).
pub(crate) const TABLE_ALL: u8 = 0xff;
/// `OFP_NO_BUFFER`.
pub(crate) const NO_BUFFER: u32 = 0xffff_ffff;
