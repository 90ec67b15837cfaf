//! `struct virtio_net_hdr` (virtio 1.3, section 5.1.6; Linux `virtio_net.h`): what the sender of a frame left to the
//! device. It precedes frames on packet sockets (`PACKET_VNET_HDR`) and TAP devices (`IFF_VNET_HDR`).

/// The length of the header in bytes.
pub(crate) const BYTES: usize = 10;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum field contains only the pseudo-header's sum.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_ECN`, a flag that may be combined with a kind: the first segment has the flag CWR, others do not.
const ECN: u8 = 0x80;

/// The kinds of joined frames: `VIRTIO_NET_HDR_GSO_TCPV4`, `_TCPV6` and, since Linux 6.2, `_UDP_L4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Not a joined frame.
    Whole = 0,
    Tcp4 = 1,
    Tcp6 = 4,
    Udp = 5,
    /// A kind that this module does not know. It is never written.
    Unknown = 0x7f,
}

/// What a sender left to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offloads {
    /// Which segments a joined frame consists of.
    pub kind: Kind,
    /// The first segment of a joined frame has the TCP flag CWR, and it is the only one.
    pub ecn: bool,
    /// Bytes from the frame's start to the segment's payload.
    pub header: u16,
    /// Payload bytes of each segment of a joined frame but the last.
    pub size: u16,
    /// The offsets of the first byte that a partial checksum covers and, from there, of its field.
    pub checksum: Option<(u16, u16)>,
}

impl Offloads {
    /// Returns what a header says, or `None` if the sender left nothing to the device.
    #[inline]
    pub(crate) fn read(bytes: [u8; BYTES]) -> Option<Offloads> {
        let [flags, kind, ..] = bytes;
        if flags & NEEDS_CHECKSUM | kind == 0 { None } else { Some(Offloads::read_all(bytes)) }
    }

    fn read_all(bytes: [u8; BYTES]) -> Offloads {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let kind = match bytes[1] & !ECN {
            0 => Kind::Whole,
            1 => Kind::Tcp4,
            4 => Kind::Tcp6,
            5 => Kind::Udp,
            _ => Kind::Unknown,
        };
        Offloads {
            kind,
            ecn: bytes[1] & ECN != 0,
            header: word(2),
            size: word(4),
            checksum: (bytes[0] & NEEDS_CHECKSUM != 0).then(|| (word(6), word(8))),
        }
    }

    /// Returns the header.
    pub(crate) fn write(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0] = if self.checksum.is_some() { NEEDS_CHECKSUM } else { 0 };
        bytes[1] = self.kind as u8 | if self.ecn { ECN } else { 0 };
        let (start, offset) = self.checksum.unwrap_or_default();
        // In the host's byte order.
        for (to, value) in bytes[2..].chunks_exact_mut(2).zip([self.header, self.size, start, offset]) {
            to.copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for kind in [Kind::Whole, Kind::Tcp4, Kind::Tcp6, Kind::Udp] {
            for (ecn, checksum) in [(false, None), (false, Some((34, 16))), (true, Some((54, 6)))] {
                let offloads = Offloads { kind, ecn, header: 66, size: 1448, checksum };
                let nothing = kind == Kind::Whole && !ecn && checksum.is_none();
                assert_eq!(Offloads::read(offloads.write()), (!nothing).then_some(offloads));
            }
        }
        // `VIRTIO_NET_HDR_F_DATA_VALID` leaves nothing to the device.
        assert_eq!(Offloads::read([2, 0, 66, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Offloads::read([0, 3, 0, 0, 9, 0, 0, 0, 0, 0]).map(|offloads| offloads.kind), Some(Kind::Unknown));
    }
}
