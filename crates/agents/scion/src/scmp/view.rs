//! Views of a punted packet: the underlay headers around the SCION packet, and the offsets of the SCION packet's parts.
//!
//! Input is arbitrary bytes. What cannot be parsed is `None`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

use crate::packet::ia::IsdAs;
use crate::packet::{self, END_TO_END, HOP_BY_HOP, UDP};

/// The length of the common header in bytes.
pub(super) const COMMON: usize = 12;
/// The number of bytes that an EPIC path has in front of its SCION path.
const EPIC_BYTES: usize = 16;

/// A frame with UDP over IPv4 or IPv6.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Underlay<'a> {
    /// Ethernet destination and source addresses.
    pub dst_mac: [u8; 6],
    pub src_mac: [u8; 6],
    /// The addresses of the sender and of this router.
    pub src: SocketAddr,
    pub dst: SocketAddr,
    /// The length of the IP header in bytes; more than 20 over IPv4 if there are options.
    pub ip_header: usize,
    /// UDP header and payload, up to the datagram's length.
    pub udp: &'a [u8],
}

/// The length of an Ethernet header in bytes.
pub(super) const ETHERNET: usize = 14;

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Reads a big-endian 16-bit number.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

impl<'a> Underlay<'a> {
    pub(crate) fn parse(frame: &'a [u8]) -> Option<Underlay<'a>> {
        let ip = frame.get(ETHERNET..)?;
        let (src, dst, ip_header): (IpAddr, IpAddr, usize) = match word(frame, 12)? {
            0x0800 if ip.first()? >> 4 == 4 && *ip.get(9)? == UDP => {
                let (src, dst) = (array::<4>(ip, 12)?, array::<4>(ip, 16)?);
                (Ipv4Addr::from(src).into(), Ipv4Addr::from(dst).into(), usize::from(ip[0] & 0xf) * 4)
            }
            0x86dd if ip.first()? >> 4 == 6 && *ip.get(6)? == UDP => {
                let (src, dst) = (array::<16>(ip, 8)?, array::<16>(ip, 24)?);
                (Ipv6Addr::from(src).into(), Ipv6Addr::from(dst).into(), 40)
            }
            _ => return None,
        };
        if ip_header < 20 {
            return None;
        }
        let udp = ip.get(ip_header..)?;
        let udp = udp.get(..usize::from(word(udp, 4)?)).filter(|udp| udp.len() >= 8)?;
        Some(Underlay {
            dst_mac: array(frame, 0)?,
            src_mac: array(frame, 6)?,
            src: SocketAddr::new(src, word(udp, 0)?),
            dst: SocketAddr::new(dst, word(udp, 2)?),
            ip_header,
            udp,
        })
    }

    /// Whether the UDP checksum is correct. Over IPv4 it may be absent.
    pub(crate) fn has_good_checksum(&self) -> bool {
        match [self.udp[6], self.udp[7]] {
            [0, 0] => self.src.is_ipv4(),
            sum => sum == packet::udp_checksum(self.src.ip(), self.dst.ip(), self.udp).to_be_bytes(),
        }
    }

    /// The datagram's payload: the SCION packet.
    pub(crate) fn payload(&self) -> &'a [u8] {
        &self.udp[8..]
    }
}

/// The offsets of a SCION packet's parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub dst_host: Range<usize>,
    pub src_host: Range<usize>,
    /// The whole path header, and the part of it with the layout of a SCION path, which is empty for other path types.
    pub path_header: Range<usize>,
    pub path: Range<usize>,
    /// The end-to-end extension header, if there is one.
    pub end_to_end: Option<Range<usize>>,
    /// Protocol number and offset of what follows the extension headers.
    pub l4: u8,
    pub payload: usize,
}

impl View {
    /// Returns `None` if a length is wrong, the path type is unknown, or extension headers are out of order.
    pub(super) fn parse(packet: &[u8]) -> Option<View> {
        let lengths = *packet.get(9)?;
        let dst_host = COMMON + 16..COMMON + 16 + 4 * (usize::from(lengths >> 4 & 3) + 1);
        let src_host = dst_host.end..dst_host.end + 4 * (usize::from(lengths & 3) + 1);
        let path_header = src_host.end..4 * usize::from(*packet.get(5)?);
        if path_header.start > path_header.end || path_header.end > packet.len() {
            return None;
        }
        let path = match packet[8] {
            1 => path_header.clone(),
            3 => path_header.start + EPIC_BYTES..path_header.end,
            0 | 2 | packet::HUMMINGBIRD_PATH => path_header.end..path_header.end,
            _ => return None,
        };
        if path.start > path.end {
            return None;
        }

        let (mut l4, mut payload) = (packet[4], path_header.end);
        let mut extension = |number: u8| {
            if l4 != number {
                return Some(None);
            }
            let start = payload;
            let end = start + 4 * (usize::from(*packet.get(start + 1)?) + 1);
            l4 = *packet.get(..end)?.get(start)?;
            payload = end;
            // Each at most once, hop-by-hop first.
            let in_order = l4 != HOP_BY_HOP && (number == HOP_BY_HOP || l4 != END_TO_END);
            in_order.then_some(Some(start..end))
        };
        extension(HOP_BY_HOP)?;
        let end_to_end = extension(END_TO_END)?;
        Some(View { dst_host, src_host, path_header, path, end_to_end, l4, payload })
    }

    pub(super) fn dst_ia(packet: &[u8]) -> IsdAs {
        IsdAs(array(packet, COMMON).map_or(0, u64::from_be_bytes))
    }

    pub(super) fn src_ia(packet: &[u8]) -> IsdAs {
        IsdAs(array(packet, COMMON + 8).map_or(0, u64::from_be_bytes))
    }
}
