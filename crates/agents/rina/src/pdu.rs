//! EFCP PDUs in the syntaxes of `p4/rina/headers.p4`, each a [`Layout`].
//!
//! Sources: Gimenez, Grasa, Bunch, *A Proof of Concept Implementation of a RINA Interior Router Using P4-Enabled Software
//! Targets* (ICIN 2020); IRATI, `kernel/pci.c`; rlite, `kernel/normal.c`.

use std::fmt;

use hopwright_ports::checksum;

/// The TTL of PDUs of this system.
pub(crate) const TTL: u8 = 64;
/// The version of EFCP.
const VERSION: u8 = 1;
/// Flag of a PDU that found a congested queue.
pub(crate) const CONGESTION: u8 = 0x01;
/// Flag of a PDU whose SDU goes on in the next one.
pub(crate) const MORE: u8 = 0x02;
/// Flag of a PDU that goes on with the SDU of the one before.
pub(crate) const REST: u8 = 0x04;

/// The bits of the flags that say how many members have relayed a PDU, outside programs, in units of [`PASSED_UNIT`] and rounded up. rlite's
/// syntax has none.
pub(crate) const PASSED: u8 = 0x78;
pub(crate) const PASSED_UNIT: u8 = 4;

/// Flag of the first PDU of a run, in rlite's syntax.
pub(crate) const RUN: u8 = 0x80;

/// The flags that a PDU can have, and their names.
pub(crate) const FLAGS: [(u8, &str); 4] = [(CONGESTION, "congestion"), (MORE, "more"), (REST, "rest"), (RUN, "run")];

/// Types of PDUs that IPC processes send.
pub(crate) mod kind {
    /// Layer management.
    pub(crate) const MANAGEMENT: u8 = 0x40;
    /// Data transfer.
    pub(crate) const DATA: u8 = 0x80;
    /// Acknowledgement and flow control.
    pub(crate) const ACK_FLOW: u8 = 0xc5;
    /// The same, with ranges received out of order.
    pub(crate) const SACK_FLOW: u8 = 0xcd;
}

/// How PDUs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Syntax {
    /// The paper's: 20 bytes with a header checksum.
    #[default]
    Checksum,
    /// IRATI's with its default widths: 19 bytes.
    Irati,
    /// rlite's with its default widths: 28 bytes. A DIF has it by its dialect.
    #[serde(skip)]
    Rlite,
}

/// A field of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Version,
    Destination,
    Source,
    QosId,
    DestinationCep,
    SourceCep,
    Type,
    Flags,
    /// Of the PDU with its header.
    Length,
    Sequence,
    /// Of the header in the syntax with a checksum. In rlite's of the PDU, 0 in DIFs without.
    Checksum,
    Ttl,
}

/// The fields of a header in their order, with their bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub little_endian: bool,
    pub fields: &'static [(Field, usize)],
}

const CHECKSUM: Layout = Layout {
    little_endian: false,
    fields: &[
        (Field::Version, 1),
        (Field::Destination, 2),
        (Field::Source, 2),
        (Field::QosId, 1),
        (Field::DestinationCep, 2),
        (Field::SourceCep, 2),
        (Field::Type, 1),
        (Field::Flags, 1),
        (Field::Length, 2),
        (Field::Sequence, 4),
        (Field::Checksum, 2),
    ],
};

const IRATI: Layout = Layout {
    little_endian: true,
    fields: &[
        (Field::Version, 1),
        (Field::Destination, 2),
        (Field::Source, 2),
        (Field::QosId, 2),
        (Field::DestinationCep, 2),
        (Field::SourceCep, 2),
        (Field::Type, 1),
        (Field::Flags, 1),
        (Field::Length, 2),
        (Field::Sequence, 4),
    ],
};

const RLITE: Layout = Layout {
    little_endian: true,
    fields: &[
        (Field::Version, 1),
        (Field::Type, 1),
        (Field::Flags, 2),
        (Field::Checksum, 2),
        (Field::Ttl, 2),
        (Field::Sequence, 4),
        (Field::Destination, 4),
        (Field::Source, 4),
        (Field::DestinationCep, 2),
        (Field::SourceCep, 2),
        (Field::Length, 2),
        (Field::QosId, 2),
    ],
};

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Syntax::Checksum => "checksum",
            Syntax::Irati => "irati",
            Syntax::Rlite => "rlite",
        })
    }
}

/// Types of PDUs but those of rlite's control PDUs.
const TYPES: [(u8, &str); 13] = [
    (0x40, "MANAGEMENT"),
    (0x80, "DATA"),
    (0xc0, "CONTROL_ACK"),
    (0xc1, "ACK"),
    (0xc2, "NACK"),
    (0xc4, "FLOW"),
    (0xc5, "ACK_FLOW"),
    (0xc6, "NACK_FLOW"),
    (0xc9, "SACK"),
    (0xca, "SNACK"),
    (0xcd, "SACK_FLOW"),
    (0xce, "SNACK_FLOW"),
    (0xcf, "RENDEZVOUS"),
];
/// rlite's control PDUs: what they acknowledge in the lowest two bits, whether they do, and whether they give credit.
const RLITE_TYPES: [(u8, &str); 11] = [
    (0x40, "MANAGEMENT"),
    (0x80, "DATA"),
    (0xc4, "ACK"),
    (0xc5, "NACK"),
    (0xc6, "SACK"),
    (0xc7, "SNACK"),
    (0xc8, "FLOW"),
    (0xcc, "ACK_FLOW"),
    (0xcd, "NACK_FLOW"),
    (0xce, "SACK_FLOW"),
    (0xcf, "SNACK_FLOW"),
];

/// The name of a type of PDU.
pub(crate) fn type_name(syntax: Syntax, kind: u8) -> Option<&'static str> {
    let types: &[(u8, &str)] = if syntax == Syntax::Rlite { &RLITE_TYPES } else { &TYPES };
    types.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

/// The header of a PDU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// Address of the destination; 0 is whoever is at the other end of the link.
    pub dst: u16,
    /// Address of the source; 0 while it has none.
    pub src: u16,
    /// QoS id, at most 255 in the syntax with a checksum.
    pub qos_id: u16,
    /// Connection endpoint at the destination.
    pub dst_cep: u16,
    /// Connection endpoint at the source.
    pub src_cep: u16,
    /// Type.
    pub kind: u8,
    /// Flags, without [`PASSED`].
    pub flags: u8,
    /// Sequence number.
    pub sequence: u32,
    /// The number in [`PASSED`].
    pub passed: u8,
}

impl Header {
    /// Members that may still relay the PDU, at most.
    pub(crate) fn hops(&self) -> u8 {
        TTL - PASSED_UNIT * self.passed
    }

    /// The same PDU that this number of members may still relay. None if the header cannot count that many relays.
    pub(crate) fn with_hops(self, hops: u8) -> Option<Header> {
        let passed = TTL.saturating_sub(hops).div_ceil(PASSED_UNIT);
        (passed <= PASSED >> PASSED.trailing_zeros()).then_some(Header { passed, ..self })
    }
}

/// Bytes that are no PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a PDU of EFCP")]
pub(crate) struct Malformed;

impl Syntax {
    /// The fields of the header.
    pub(crate) fn layout(self) -> &'static Layout {
        match self {
            Syntax::Checksum => &CHECKSUM,
            Syntax::Irati => &IRATI,
            Syntax::Rlite => &RLITE,
        }
    }

    /// Bytes of the header.
    pub(crate) fn header_bytes(self) -> usize {
        self.layout().fields.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Appends a PDU. The payload is at most 65,000 bytes long.
    pub(crate) fn write(self, header: &Header, payload: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        for (field, bytes) in self.layout().fields {
            let number = match field {
                Field::Version => VERSION.into(),
                Field::Destination => header.dst.into(),
                Field::Source => header.src.into(),
                Field::QosId => header.qos_id.into(),
                Field::DestinationCep => header.dst_cep.into(),
                Field::SourceCep => header.src_cep.into(),
                Field::Type => header.kind.into(),
                Field::Flags if self == Syntax::Rlite => header.flags.into(),
                Field::Flags => (header.flags | header.passed << PASSED.trailing_zeros()).into(),
                Field::Length => (self.header_bytes() + payload.len()) as u32,
                Field::Sequence => header.sequence,
                // Behind all other fields, or none.
                Field::Checksum if self == Syntax::Checksum => (!checksum::ones_sum(&out[begin..])).into(),
                Field::Checksum => 0,
                Field::Ttl => TTL.into(),
            };
            match self.layout().little_endian {
                true => out.extend(&number.to_le_bytes()[..*bytes]),
                false => out.extend(&number.to_be_bytes()[4 - bytes..]),
            }
        }
        out.extend_from_slice(payload);
    }

    /// Reads a PDU, behind which may be padding. Returns the header and the payload.
    pub(crate) fn parse(self, bytes: &[u8]) -> Result<(Header, &[u8]), Malformed> {
        let head = bytes.get(..self.header_bytes()).ok_or(Malformed)?;
        if self == Syntax::Checksum && !matches!(checksum::ones_sum(head), 0 | 0xffff) {
            return Err(Malformed);
        }
        let (mut header, mut length, mut rest) = (Header::default(), 0, head);
        for (field, width) in self.layout().fields {
            let (bytes, behind) = rest.split_at(*width);
            rest = behind;
            let add = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
            let number = match self.layout().little_endian {
                true => bytes.iter().rev().fold(0, add),
                false => bytes.iter().fold(0, add),
            };
            let short = || u16::try_from(number).map_err(|_| Malformed);
            match field {
                // rlite leaves that byte of its buffers as it is, and does not read it.
                Field::Version if number != u32::from(VERSION) && self != Syntax::Rlite => return Err(Malformed),
                Field::Version | Field::Checksum | Field::Ttl => {}
                Field::Destination => header.dst = short()?,
                Field::Source => header.src = short()?,
                Field::QosId => header.qos_id = short()?,
                Field::DestinationCep => header.dst_cep = short()?,
                Field::SourceCep => header.src_cep = short()?,
                Field::Type => header.kind = number as u8,
                Field::Flags if self == Syntax::Rlite => header.flags = number as u8,
                Field::Flags => {
                    header.flags = number as u8 & !PASSED;
                    header.passed = (number as u8 & PASSED) >> PASSED.trailing_zeros();
                }
                Field::Length => length = number as usize,
                Field::Sequence => header.sequence = number,
            }
        }
        let payload = bytes.get(self.header_bytes()..length).ok_or(Malformed)?;
        Ok((header, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let header = Header {
            dst: 0x1234,
            src: 7,
            qos_id: 3,
            dst_cep: 0x4321,
            src_cep: 9,
            kind: kind::DATA,
            flags: CONGESTION,
            sequence: 0x0102_0304,
            passed: 0,
        };
        for syntax in [Syntax::Checksum, Syntax::Irati, Syntax::Rlite] {
            let mut pdu = Vec::new();
            syntax.write(&header, b"an SDU", &mut pdu);
            let length = pdu.len();
            pdu.extend([0; 20]);
            assert_eq!(syntax.parse(&pdu), Ok((header, &b"an SDU"[..])));
            for cut in 0..length {
                assert_eq!(syntax.parse(&pdu[..cut]), Err(Malformed), "{cut} bytes");
            }
        }
    }

    #[test]
    fn members_that_a_pdu_has_passed_are_counted() {
        let header = Header { flags: CONGESTION | MORE | REST | RUN, ..Header::default() };
        assert_eq!(header.hops(), TTL);
        for hops in 0..=TTL {
            let Some(counted) = header.with_hops(hops) else {
                assert!(hops < 4);
                continue;
            };
            assert!((4..=hops).contains(&counted.hops()) && hops - counted.hops() < 4, "{hops}");
            for syntax in [Syntax::Checksum, Syntax::Irati] {
                let mut pdu = Vec::new();
                syntax.write(&counted, b"an SDU", &mut pdu);
                assert_eq!(syntax.parse(&pdu), Ok((counted, &b"an SDU"[..])));
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_program() {
        let header =
            Header { dst: 1, src: 2, qos_id: 3, dst_cep: 4, src_cep: 5, kind: 0x80, flags: 1, sequence: 6, passed: 0 };
        let mut pdu = Vec::new();
        Syntax::Checksum.write(&header, &[], &mut pdu);
        assert_eq!(pdu[..18], [1, 0, 1, 0, 2, 3, 0, 4, 0, 5, 0x80, 1, 0, 20, 0, 0, 0, 6]);
        pdu[3] ^= 1;
        assert_eq!(Syntax::Checksum.parse(&pdu), Err(Malformed), "the checksum is checked");
        pdu.clear();
        Syntax::Irati.write(&header, &[], &mut pdu);
        assert_eq!(pdu, [1, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0x80, 1, 19, 0, 6, 0, 0, 0]);
        // As rlite's `struct rina_pci` has it, on x86.
        pdu.clear();
        let header = Header { dst: 17, src: 18, flags: RUN, dst_cep: 5, src_cep: 6, sequence: 0x0102_0304, ..header };
        Syntax::Rlite.write(&header, &[7, 8], &mut pdu);
        let wanted = "0180800000004000040302011100000012000000050006001e000300";
        assert_eq!(pdu[..28].iter().map(|byte| format!("{byte:02x}")).collect::<String>(), wanted);
        pdu[0] = 0x5a;
        assert!(Syntax::Rlite.parse(&pdu).is_ok(), "any version");
        pdu[14] = 1;
        assert_eq!(Syntax::Rlite.parse(&pdu), Err(Malformed), "members here have addresses of 16 bits");
    }
}
