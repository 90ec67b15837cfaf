//! EFCP PDUs in the two syntaxes of `p4/rina/headers.p4`.
//!
//! | field | [`Syntax::Checksum`], network byte order | [`Syntax::Irati`], little-endian |
//! | --- | --- | --- |
//! | version | 1 byte | 1 byte |
//! | destination, source | 2, 2 | 2, 2 |
//! | QoS id | 1 | 2 |
//! | destination, source CEP id | 2, 2 | 2, 2 |
//! | type, flags | 1, 1 | 1, 1 |
//! | length, with header | 2 | 2 |
//! | sequence number | 4 | 4 |
//! | header checksum | 2 | none |
//!
//! Sources: Gimenez, Grasa, Bunch, *A Proof of Concept Implementation of a RINA Interior Router Using P4-Enabled Software
//! Targets* (ICIN 2020); IRATI, `kernel/pci.c`.

use hopwright_ports::checksum;

/// The version of EFCP.
const VERSION: u8 = 1;
/// Flag of a PDU that found a congested queue.
pub(crate) const CONGESTION: u8 = 0x01;
/// Flag of a PDU whose SDU goes on in the next one.
pub(crate) const MORE: u8 = 0x02;
/// Flag of a PDU that goes on with the SDU of the one before.
pub(crate) const REST: u8 = 0x04;

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
    /// Flags.
    pub flags: u8,
    /// Sequence number.
    pub sequence: u32,
}

/// Bytes that are no PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a PDU of EFCP")]
pub(crate) struct Malformed;

impl Syntax {
    /// Bytes of the header.
    pub(crate) fn header_bytes(self) -> usize {
        match self {
            Syntax::Checksum => 20,
            Syntax::Irati => 19,
        }
    }

    /// Appends a PDU. The payload is at most 65,000 bytes long.
    pub(crate) fn write(self, header: &Header, payload: &[u8], out: &mut Vec<u8>) {
        let length = (self.header_bytes() + payload.len()) as u16;
        let begin = out.len();
        out.push(VERSION);
        match self {
            Syntax::Checksum => {
                out.extend(header.dst.to_be_bytes());
                out.extend(header.src.to_be_bytes());
                out.push(header.qos_id as u8);
                out.extend(header.dst_cep.to_be_bytes());
                out.extend(header.src_cep.to_be_bytes());
                out.extend([header.kind, header.flags]);
                out.extend(length.to_be_bytes());
                out.extend(header.sequence.to_be_bytes());
                let sum = !checksum::ones_sum(&out[begin..]);
                out.extend(sum.to_be_bytes());
            }
            Syntax::Irati => {
                for number in [header.dst, header.src, header.qos_id, header.dst_cep, header.src_cep] {
                    out.extend(number.to_le_bytes());
                }
                out.extend([header.kind, header.flags]);
                out.extend(length.to_le_bytes());
                out.extend(header.sequence.to_le_bytes());
            }
        }
        out.extend_from_slice(payload);
    }

    /// Reads a PDU, behind which may be padding. Returns the header and the payload.
    pub(crate) fn parse(self, bytes: &[u8]) -> Result<(Header, &[u8]), Malformed> {
        let head = bytes.get(..self.header_bytes()).ok_or(Malformed)?;
        if head[0] != VERSION {
            return Err(Malformed);
        }
        let pair = |at: usize| [head[at], head[at + 1]];
        let four = |at: usize| [head[at], head[at + 1], head[at + 2], head[at + 3]];
        let (header, length) = match self {
            Syntax::Checksum => {
                if !matches!(checksum::ones_sum(head), 0 | 0xffff) {
                    return Err(Malformed);
                }
                let number = |at| u16::from_be_bytes(pair(at));
                let header = Header {
                    dst: number(1),
                    src: number(3),
                    qos_id: head[5].into(),
                    dst_cep: number(6),
                    src_cep: number(8),
                    kind: head[10],
                    flags: head[11],
                    sequence: u32::from_be_bytes(four(14)),
                };
                (header, number(12))
            }
            Syntax::Irati => {
                let number = |at| u16::from_le_bytes(pair(at));
                let header = Header {
                    dst: number(1),
                    src: number(3),
                    qos_id: number(5),
                    dst_cep: number(7),
                    src_cep: number(9),
                    kind: head[11],
                    flags: head[12],
                    sequence: u32::from_le_bytes(four(15)),
                };
                (header, number(13))
            }
        };
        let payload = bytes.get(self.header_bytes()..usize::from(length)).ok_or(Malformed)?;
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
        };
        for syntax in [Syntax::Checksum, Syntax::Irati] {
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
    fn the_bytes_are_those_of_the_program() {
        let header = Header { dst: 1, src: 2, qos_id: 3, dst_cep: 4, src_cep: 5, kind: 0x80, flags: 1, sequence: 6 };
        let mut pdu = Vec::new();
        Syntax::Checksum.write(&header, &[], &mut pdu);
        assert_eq!(pdu[..18], [1, 0, 1, 0, 2, 3, 0, 4, 0, 5, 0x80, 1, 0, 20, 0, 0, 0, 6]);
        pdu[3] ^= 1;
        assert_eq!(Syntax::Checksum.parse(&pdu), Err(Malformed), "the checksum is checked");
        pdu.clear();
        Syntax::Irati.write(&header, &[], &mut pdu);
        assert_eq!(pdu, [1, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0x80, 1, 19, 0, 6, 0, 0, 0]);
    }
}
