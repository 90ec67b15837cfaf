//! Joins segments of one flow that leave together into one long frame, which the device, or the kernel behind a virtual
//! device, segments again (the kernel's GSO).
//!
//! Most of the kernel's work on a frame does not depend on its length, so a frame of forty segments costs little more
//! than one segment. The receiver sees the same packets. Segments are joined only if segmentation restores every byte
//! of them, with two exceptions: the identification of IPv4 packets with the don't-fragment flag, which has no meaning
//! (RFC 6864), and, if the sender allows it, UDP checksums that were absent.

use hopwright_dataplane::{MAX_BATCH, Packet};

use crate::offload::checksum::{fold, ones_sum, sum};
use crate::offload::headers::{TCP, UDP};
use crate::offload::split::{CWR, FIN, PSH};
use crate::offload::virtio::{self, Kind, Offloads};
use crate::offload::{set_word, word};

/// The maximum number of datagrams in a joined frame: what every kernel accepts (`UDP_MAX_SEGMENTS`).
const MOST_DATAGRAMS: usize = 64;
/// The maximum number of segments in a joined frame.
pub(crate) const MOST: usize = MAX_BATCH;
/// The maximum length of a joined frame in bytes. By default devices accept less than 64 KiB (`gso_max_size`), and the
/// kernel's TCP makes frames that are some hundred bytes shorter.
const LONGEST: usize = (64 << 10) - 256;

const UDP_HEADER: usize = 8;
const DONT_FRAGMENT: u16 = 0x4000;
/// Flags of TCP with which segments are never joined, and the one that they must have.
const SYN_RST_URG: u8 = 0x26;
const ACK: u8 = 0x10;

/// The kinds of joined frames that a device takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segments(u8);

impl Segments {
    /// The device features by their names in `ethtool -k`; the feature at index `i` is bit `i` of the set.
    pub(crate) const FEATURES: [&'static str; 4] =
        ["tx-udp-segmentation", "tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation"];
    const UDP: Segments = Segments(1);
    const TCP4: Segments = Segments(2);
    const TCP6: Segments = Segments(4);
    const TCP_ECN: Segments = Segments(8);
    /// All kinds.
    pub(crate) const ALL: Segments = Segments(15);

    pub(crate) fn from_bits(bits: u8) -> Segments {
        Segments(bits)
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn without_udp(self) -> Segments {
        Segments(self.0 & !Segments::UDP.0)
    }

    #[inline]
    fn has(self, other: Segments) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn udp(self) -> bool {
        self.has(Segments::UDP)
    }

    pub(crate) fn tcp(self) -> bool {
        self.has(Segments::TCP4) && self.has(Segments::TCP6)
    }
}

/// Where the headers of a segment begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// The IP header: 14, or 18 behind a VLAN tag.
    ip: usize,
    transport: usize,
    payload: usize,
    tcp: bool,
}

impl Shape {
    /// Returns `None` unless the frame is exactly one whole datagram or TCP segment with at most one VLAN tag: IPv4
    /// without options or fragments, or IPv6 without extension headers, and nothing behind it.
    #[inline]
    fn of(frame: &[u8]) -> Option<Shape> {
        let ip = match *frame.get(12..14)? {
            [8, 0] | [0x86, 0xdd] => 14,
            [0x81, 0] | [0x88, 0xa8] => 18,
            _ => return None,
        };
        if frame.len() < ip + 28 {
            return None;
        }
        let (transport, protocol, whole) = match (frame[ip - 2], frame[ip - 1], frame[ip]) {
            (8, 0, 0x45) => {
                let whole = word(frame, ip + 6) & 0x3fff == 0 && usize::from(word(frame, ip + 2)) == frame.len() - ip;
                (ip + 20, frame[ip + 9], whole)
            }
            (0x86, 0xdd, _) if frame.len() >= ip + 48 => {
                (ip + 40, frame[ip + 6], usize::from(word(frame, ip + 4)) == frame.len() - ip - 40)
            }
            _ => return None,
        };
        if !whole {
            return None;
        }
        let payload = match protocol {
            UDP if usize::from(word(frame, transport + 4)) == frame.len() - transport => transport + UDP_HEADER,
            TCP => {
                let payload = transport + usize::from(frame.get(transport + 12)? >> 4) * 4;
                if payload < transport + 20 || payload > frame.len() {
                    return None;
                }
                payload
            }
            _ => return None,
        };
        Some(Shape { ip, transport, payload, tcp: protocol == TCP })
    }

    #[inline]
    fn is_v4(self) -> bool {
        self.transport - self.ip == 20
    }

    /// Returns whether a frame has the same headers as a segment of this shape, except for checksums, identification and
    /// TCP's sequence numbers and flags, and lengths that fit the frame: it has this shape, too.
    #[inline]
    fn is_same_flow(self, segment: &[u8], frame: &[u8]) -> bool {
        if frame.len() < self.payload {
            return false;
        }
        // Comparisons of a known length are much cheaper.
        let ip = match (self.ip, self.is_v4()) {
            (14, true) => alike::<14, true>(segment, frame),
            (14, false) => alike::<14, false>(segment, frame),
            (_, true) => alike::<18, true>(segment, frame),
            (_, false) => alike::<18, false>(segment, frame),
        };
        let at = self.transport;
        let alike = |from: usize, to: usize| segment[from..to] == frame[from..to];
        ip && match self.tcp {
            true => alike(at + 8, at + 13) && alike(at + 14, at + 16) && alike(at + 18, self.payload),
            false => usize::from(word(frame, at + 4)) == frame.len() - at,
        }
    }

    /// Returns whether the checksums are those that the kernel will write when it segments. With `fill`, a missing UDP
    /// checksum over IPv4 is accepted.
    fn is_sound(self, frame: &[u8], fill: bool) -> bool {
        let (ip, at) = (self.ip, self.transport);
        if self.is_v4() && ones_sum(&frame[ip..at]) != 0xffff {
            return false;
        }
        let field = word(frame, if self.tcp { at + 16 } else { at + 6 });
        if !self.tcp && field == 0 {
            return self.is_v4() && fill;
        }
        // TCP has no use for 0xffff; the kernel writes zero.
        !(self.tcp && field == 0xffff) && fold(self.pseudo(frame, frame.len() - at) + sum(&frame[at..])) == 0xffff
    }

    /// Returns the sum of the pseudo-header of a segment of `length` bytes.
    fn pseudo(self, frame: &[u8], length: usize) -> u64 {
        let addresses = if self.is_v4() { self.ip + 12 } else { self.ip + 8 };
        sum(&frame[addresses..self.transport]) + u64::from(if self.tcp { TCP } else { UDP }) + length as u64
    }
}

/// Compares Ethernet, IP and ports of a segment and a frame, without what may differ. The frame's IP length must be its own.
#[inline]
fn alike<const IP: usize, const V4: bool>(segment: &[u8], frame: &[u8]) -> bool {
    let alike = |from: usize, to: usize| segment[from..to] == frame[from..to];
    if V4 {
        alike(IP + 12, IP + 24)
            && alike(0, IP + 2)
            && alike(IP + 6, IP + 10)
            && usize::from(word(frame, IP + 2)) == frame.len() - IP
    } else {
        alike(IP + 6, IP + 44) && alike(0, IP + 4) && usize::from(word(frame, IP + 4)) == frame.len() - IP - 40
    }
}

fn sequence(frame: &[u8], shape: Shape) -> u32 {
    let at = shape.transport + 4;
    u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
}

/// Returns how many packets, from the first on, can be sent as one frame of a kind that the device takes; 1 if the first
/// must be sent alone. Their frames, without VLAN tag, are at most `longest` bytes long. With `fill`, datagrams over
/// IPv4 without a UDP checksum may be sent with one.
pub(crate) fn joinable(packets: &[Packet], longest: usize, takes: Segments, fill: bool) -> usize {
    let [first, second, ..] = packets else { return packets.len() };
    let (first, second) = (first.bytes(), second.bytes());
    let Some(shape) = Shape::of(first) else { return 1 };
    let payload = first.len() - shape.payload;
    // Checksums are tested last, because mostly the second packet is of another flow.
    if payload == 0 || first.len() - (shape.ip - 14) > longest || !shape.is_same_flow(first, second) {
        return 1;
    }
    let at = shape.transport;
    let flags = if shape.tcp { first[at + 13] } else { 0 };
    let kind = match (shape.tcp, shape.is_v4()) {
        (false, _) => Segments::UDP,
        (true, true) => Segments::TCP4,
        (true, false) => Segments::TCP6,
    };
    let joins = !shape.tcp || flags & (SYN_RST_URG | ACK | FIN | PSH) == ACK;
    if !takes.has(kind) || !joins || flags & CWR != 0 && !takes.has(Segments::TCP_ECN) || !shape.is_sound(first, fill) {
        return 1;
    }
    let most = ((LONGEST - shape.payload) / payload).min(if shape.tcp { MOST } else { MOST_DATAGRAMS });
    let numbered = shape.is_v4() && word(first, shape.ip + 6) & DONT_FRAGMENT == 0;
    let mut count = 1;
    for packet in packets[1..].iter().take(most.saturating_sub(1)) {
        let frame = packet.bytes();
        let fits = frame.len() <= first.len()
            && frame.len() > shape.payload
            && (count == 1 || shape.is_same_flow(first, frame))
            && (!numbered || word(frame, shape.ip + 4) == word(first, shape.ip + 4).wrapping_add(count as u16))
            && (!shape.tcp
                || frame[at + 13] & !(FIN | PSH) == flags & !CWR
                    && sequence(frame, shape) == sequence(first, shape).wrapping_add((count * payload) as u32))
            && shape.is_sound(frame, fill);
        if !fits {
            break;
        }
        count += 1;
        // Only the last segment may be shorter, or have flags that the others do not have.
        if frame.len() < first.len() || shape.tcp && frame[at + 13] & (FIN | PSH) != 0 {
            break;
        }
    }
    count
}

/// The maximum length of a joined frame's headers, with its `virtio_net_hdr`, in bytes: a VLAN tag, IPv6, TCP.
const HEAD: usize = virtio::BYTES + 18 + 40 + 60;

/// The beginning of a joined frame.
#[derive(Debug)]
pub(crate) struct Head {
    bytes: [u8; HEAD],
    length: usize,
    /// The offset of the payload in each of the packets.
    payload: usize,
    udp: bool,
}

impl Head {
    /// Whether the packets are datagrams.
    pub(crate) fn is_udp(&self) -> bool {
        self.udp
    }

    /// The `virtio_net_hdr` and the headers.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The pieces of the joined frame.
    pub(crate) fn and_payloads<'a>(&'a self, packets: &'a [Packet]) -> impl Iterator<Item = &'a [u8]> {
        let payload = |packet: &'a Packet| &packet.bytes()[self.payload..];
        std::iter::once(self.bytes()).chain(packets.iter().map(payload))
    }

    /// Makes the headers of the frame that joins packets which [`joinable`] accepted; their payloads follow one another
    /// behind it. Returns `None` if there are no packets.
    pub(crate) fn of(packets: &[Packet]) -> Option<Head> {
        let (first, last) = (packets.first()?.bytes(), packets.last()?.bytes());
        let shape = Shape::of(first)?;
        let (ip, at, payload) = (shape.ip, shape.transport, shape.payload);
        let mut bytes = [0; HEAD];
        let (offloads, frame) = bytes.split_first_chunk_mut::<{ virtio::BYTES }>()?;
        frame[..payload].copy_from_slice(&first[..payload]);
        let whole: usize = payload + packets.iter().map(|packet| packet.len() - payload).sum::<usize>();
        if shape.is_v4() {
            set_word(frame, ip + 2, (whole - ip) as u16);
            set_word(frame, ip + 10, 0);
            let checksum = !ones_sum(&frame[ip..at]);
            set_word(frame, ip + 10, checksum);
        } else {
            set_word(frame, ip + 4, (whole - ip - 40) as u16);
        }
        let pseudo = fold(shape.pseudo(frame, whole - at));
        let offset = if shape.tcp { 16 } else { 6 };
        set_word(frame, at + offset, pseudo);
        let ecn = shape.tcp && first[at + 13] & CWR != 0;
        if shape.tcp {
            frame[at + 13] |= last[at + 13] & (FIN | PSH);
        } else {
            set_word(frame, at + 4, (whole - at) as u16);
        }
        let kind = match (shape.tcp, shape.is_v4()) {
            (false, _) => Kind::Udp,
            (true, true) => Kind::Tcp4,
            (true, false) => Kind::Tcp6,
        };
        *offloads = Offloads {
            kind,
            ecn,
            header: payload as u16,
            size: (first.len() - payload) as u16,
            checksum: Some((at as u16, offset as u16)),
        }
        .write();
        Some(Head { bytes, length: virtio::BYTES + payload, payload, udp: !shape.tcp })
    }
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
