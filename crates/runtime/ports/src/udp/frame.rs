//! Builds Ethernet, IP and UDP headers in front of received datagrams, in place of those that the kernel has removed.
//! This runs for every datagram, in the packet's buffer and without allocation, so it writes the fields directly.

use std::net::{IpAddr, SocketAddr};

use crate::offload::checksum;

/// The router's Ethernet address in the frames of this port.
pub const ROUTER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// The Ethernet address of all other hosts in the frames of this port.
pub const OTHERS_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// The length of Ethernet, IPv4 and UDP headers in bytes.
pub(super) const IPV4_HEADERS: usize = 14 + 20 + 8;
/// The length of Ethernet, IPv6 and UDP headers in bytes.
pub(super) const IPV6_HEADERS: usize = 14 + 40 + 8;

/// The length of the headers of a datagram to an address, in bytes.
pub(super) fn headers(to: IpAddr) -> usize {
    if to.is_ipv4() { IPV4_HEADERS } else { IPV6_HEADERS }
}

/// Writes the headers and checksums of a frame that ends with the datagram's payload. Both addresses must have the IP
/// version that the length of the headers is for.
pub(super) fn finish(frame: &mut [u8], from: SocketAddr, to: SocketAddr) {
    write_headers(frame, from, to);
    checksum::complete(frame);
}

/// Like [`finish`], without the UDP checksum.
pub(super) fn write_headers(frame: &mut [u8], from: SocketAddr, to: SocketAddr) {
    let whole = frame.len();
    let (out, _) = frame.split_at_mut(headers(to.ip()));
    out.fill(0);
    out[..6].copy_from_slice(&ROUTER_MAC);
    out[6..12].copy_from_slice(&OTHERS_MAC);
    let udp = out.len() - 8;
    let udp_length = ((whole - udp) as u16).to_be_bytes();
    match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            out[12..14].copy_from_slice(&[0x08, 0x00]);
            let ip = &mut out[14..34];
            ip[0] = 0x45;
            ip[2..4].copy_from_slice(&((whole - 14) as u16).to_be_bytes());
            ip[6] = 0x40;
            ip[8..10].copy_from_slice(&[64, 17]);
            ip[12..16].copy_from_slice(&from.octets());
            ip[16..20].copy_from_slice(&to.octets());
            let sum = !checksum::ones_sum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            out[12..14].copy_from_slice(&[0x86, 0xdd]);
            let ip = &mut out[14..54];
            ip[0] = 0x60;
            ip[4..6].copy_from_slice(&udp_length);
            ip[6..8].copy_from_slice(&[17, 64]);
            ip[8..24].copy_from_slice(&from.octets());
            ip[24..40].copy_from_slice(&to.octets());
        }
        // A socket of one IP version only receives from addresses of that version.
        _ => return,
    }
    out[udp..udp + 2].copy_from_slice(&from.port().to_be_bytes());
    out[udp + 2..udp + 4].copy_from_slice(&to.port().to_be_bytes());
    out[udp + 4..udp + 6].copy_from_slice(&udp_length);
}

/// The UDP datagram in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datagram<'a> {
    pub from: (IpAddr, u16),
    pub to: (IpAddr, u16),
    pub payload: &'a [u8],
}

/// Parses an untagged frame with UDP over IPv4 without options, or over IPv6 without extension headers. Returns `None`
/// for other frames.
#[inline]
pub(super) fn datagram(frame: &[u8]) -> Option<Datagram<'_>> {
    let (from, to, udp): (IpAddr, IpAddr, usize) = match frame.get(12..15)? {
        [0x08, 0x00, 0x45] if *frame.get(23)? == 17 => {
            let address = |at: usize| Some(<[u8; 4]>::try_from(frame.get(at..at + 4)?).ok()?.into());
            (address(26)?, address(30)?, 34)
        }
        [0x86, 0xdd, version] if version >> 4 == 6 && *frame.get(20)? == 17 => {
            let address = |at: usize| Some(<[u8; 16]>::try_from(frame.get(at..at + 16)?).ok()?.into());
            (address(22)?, address(38)?, 54)
        }
        _ => return None,
    };
    let word = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
    let payload = frame.get(udp + 8..udp + usize::from(word(udp + 4)?))?;
    Some(Datagram { from: (from, word(udp)?), to: (to, word(udp + 2)?), payload })
}
