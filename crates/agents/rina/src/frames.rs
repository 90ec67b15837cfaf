//! Frames: Ethernet, perhaps with a VLAN tag, and the shim over UDP and IPv4.

use std::net::SocketAddrV4;

use hopwright_ports::checksum;

use crate::neighbour::Mac;
use crate::pdu::TTL;

/// EtherType of the shim DIF over Ethernet.
pub(crate) const RINA_TYPE: u16 = 0xd1f0;
/// That of ARP.
pub(crate) const ARP_TYPE: u16 = 0x0806;
const VLAN_TYPE: u16 = 0x8100;
const IPV4_TYPE: u16 = 0x0800;
const IPV4_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const UDP: u8 = 17;
/// Least bytes of a frame.
const LEAST: usize = 60;

/// Source and destination of a datagram that carries PDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shim {
    /// This system.
    pub local: SocketAddrV4,
    /// The neighbour.
    pub remote: SocketAddrV4,
}

/// What protects the PDUs of a link in IRATI's syntax: a TTL in front (`sdup-ttl-ps-default.c`), and behind a CRC of all of it
/// (`sdup-errc-ps-default.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// A router takes one off, and drops a PDU that has none left.
    pub ttl: bool,
    /// Linux's crc32_le with the start value 0, little-endian. The program checks it.
    pub crc: bool,
}

impl Protection {
    /// The PDU behind its TTL. A CRC behind it is as padding: the PDU has its length.
    pub(crate) fn remove(self, bytes: &[u8]) -> &[u8] {
        bytes.get(usize::from(self.ttl)..).unwrap_or_default()
    }

    /// A PDU with its protection.
    pub(crate) fn add(self, mut pdu: Vec<u8>) -> Vec<u8> {
        if self.ttl {
            pdu.insert(0, TTL);
        }
        if self.crc {
            pdu.extend(crc(&pdu).to_le_bytes());
        }
        pdu
    }
}

/// CRC-32 (IEEE 802.3), reflected, that begins with 0 and is not inverted.
fn crc(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let (mut value, mut bit) = (index as u32, 0);
            while bit < 8 {
                value = value >> 1 ^ if value & 1 == 1 { 0xedb8_8320 } else { 0 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    bytes.iter().fold(0, |crc, byte| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)])
}

/// A frame that carries a PDU.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Received<'a> {
    pub from: Mac,
    pub vlan: u16,
    pub shim: Option<Shim>,
    pub pdu: &'a [u8],
    /// It is an ARP packet in place of a PDU.
    pub arp: bool,
}

/// Reads a frame.
pub(crate) fn parse(frame: &[u8]) -> Option<Received<'_>> {
    let from = *frame.get(6..)?.first_chunk::<6>()?;
    let word = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let (vlan, kind, rest) = match word(12)? {
        VLAN_TYPE => (word(14)? & 0xfff, word(16)?, frame.get(18..)?),
        kind => (0, kind, frame.get(14..)?),
    };
    match kind {
        RINA_TYPE | ARP_TYPE => Some(Received { from, vlan, shim: None, pdu: rest, arp: kind == ARP_TYPE }),
        IPV4_TYPE => {
            let (head, pdu) = rest.split_first_chunk::<{ IPV4_BYTES + UDP_BYTES }>()?;
            let address = |at: usize| Some(std::net::Ipv4Addr::from(*head.get(at..)?.first_chunk::<4>()?));
            let port = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
            if head[0] != 0x45 || head[9] != UDP {
                return None;
            }
            let shim = Shim {
                remote: SocketAddrV4::new(address(12)?, port(20)),
                local: SocketAddrV4::new(address(16)?, port(22)),
            };
            Some(Received { from, vlan, shim: Some(shim), pdu, arp: false })
        }
        _ => None,
    }
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    Pdu,
    /// A PDU in a datagram.
    Datagram(Shim),
    Arp,
}

/// Appends a frame.
pub(crate) fn write(to: Mac, from: Mac, vlan: u16, what: Carries, pdu: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend(to);
    out.extend(from);
    if vlan != 0 {
        out.extend(VLAN_TYPE.to_be_bytes());
        out.extend(vlan.to_be_bytes());
    }
    match what {
        Carries::Pdu => out.extend(RINA_TYPE.to_be_bytes()),
        Carries::Arp => out.extend(ARP_TYPE.to_be_bytes()),
        Carries::Datagram(Shim { local, remote }) => {
            out.extend(IPV4_TYPE.to_be_bytes());
            let ip = out.len();
            let length = (UDP_BYTES + pdu.len()) as u16;
            out.extend([0x45, 0]);
            out.extend((length + IPV4_BYTES as u16).to_be_bytes());
            // Not to be fragmented.
            out.extend([0, 0, 0x40, 0, 64, UDP, 0, 0]);
            out.extend(local.ip().octets());
            out.extend(remote.ip().octets());
            let sum = !checksum::ones_sum(&out[ip..]);
            out[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
            out.extend(local.port().to_be_bytes());
            out.extend(remote.port().to_be_bytes());
            out.extend(length.to_be_bytes());
            // No checksum: EFCP's header has one.
            out.extend([0, 0]);
        }
    }
    out.extend(pdu);
    out.resize(out.len().max(begin + LEAST), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PDU with TTL and CRC of `tests/stf/rina_congestion.stf`.
    #[test]
    fn protection_is_that_of_the_program() {
        let mut pdu = vec![1, 4, 0, 1, 0, 1, 0, 0x11, 0, 0x22, 0, 0x80, 0, 0x31, 0, 7, 0, 0, 0];
        for _ in 0..10 {
            pdu.extend([0xc0, 0xff, 0xee]);
        }
        let both = Protection { ttl: true, crc: true };
        let bytes = both.add(pdu.clone());
        assert_eq!(bytes[..2], [64, 1]);
        assert_eq!(bytes[bytes.len() - 4..], [0x4c, 0x5c, 0x5e, 0x77]);
        assert_eq!(both.remove(&bytes)[..pdu.len()], pdu);
        assert_eq!(Protection::default().add(pdu.clone()), pdu);
        assert!(both.remove(&[]).is_empty());
    }

    #[test]
    fn frames_are_read_as_written() {
        let shim = Shim { local: "192.0.2.1:3359".parse().unwrap(), remote: "192.0.2.2:3360".parse().unwrap() };
        let other = Shim { local: shim.remote, remote: shim.local };
        let pdu = Carries::Pdu;
        for (vlan, sent, seen) in
            [(0, pdu, None), (30, pdu, None), (7, Carries::Arp, None), (0, Carries::Datagram(shim), Some(other))]
        {
            let mut frame = Vec::new();
            write([1; 6], [2; 6], vlan, sent, &[7; 100], &mut frame);
            let received = parse(&frame).unwrap();
            assert_eq!(
                (received.from, received.vlan, received.shim, received.pdu, received.arp),
                ([2; 6], vlan, seen, &[7; 100][..], sent == Carries::Arp)
            );
            for cut in 0..frame.len() - 100 {
                assert!(parse(&frame[..cut]).is_none(), "{cut}");
            }
        }
        let mut short = Vec::new();
        write([1; 6], [2; 6], 0, pdu, &[7; 5], &mut short);
        assert_eq!(short.len(), LEAST);
    }
}
