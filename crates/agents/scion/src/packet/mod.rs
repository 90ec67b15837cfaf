//! Builds SCION packets from parts, down to the Ethernet frame: the agent's own packets, tests, generated traffic and
//! benchmarks. The forwarding path does not use this.
//!
//! Lengths and checksums are computed unless a part overrides them; hop fields are signed on request.

pub mod ia;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use aes::Aes128;
use cmac::{Cmac, Mac};

use crate::packet::ia::IsdAs;

mod epic;
mod hummingbird;

pub use epic::Epic;
pub use hummingbird::{Flyover, HummingbirdPath, Sent};

/// Next-header numbers.
pub const UDP: u8 = 17;
/// See [`UDP`].
pub const TCP: u8 = 6;
/// See [`UDP`].
pub const HOP_BY_HOP: u8 = 200;
/// See [`UDP`].
pub const END_TO_END: u8 = 201;
/// See [`UDP`].
pub const SCMP: u8 = 202;
/// See [`UDP`].
pub const BFD: u8 = 203;

/// Path types of packets from router to router.
pub const EMPTY_PATH: u8 = 0;
/// See [`EMPTY_PATH`].
pub const ONE_HOP_PATH: u8 = 2;
/// The path type Hummingbird.
pub const HUMMINGBIRD_PATH: u8 = 5;

/// A frame on a link: Ethernet, IP, UDP, SCION.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Ethernet destination.
    pub dst_mac: [u8; 6],
    /// Ethernet source.
    pub src_mac: [u8; 6],
    /// Underlay source; of the same IP version as the destination.
    pub src: SocketAddr,
    /// Underlay destination.
    pub dst: SocketAddr,
    /// IPv4 TTL or IPv6 hop limit.
    pub ttl: u8,
    /// IPv4 type of service or IPv6 traffic class.
    pub tos: u8,
    /// Whether to have a UDP checksum; otherwise it is 0, which means none.
    pub udp_checksum: bool,
    /// The payload.
    pub scion: Scion,
}

/// The headers around a SCION packet on a link: Ethernet, IP, UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Ethernet destination.
    pub dst_mac: [u8; 6],
    /// Ethernet source.
    pub src_mac: [u8; 6],
    /// Source; of the same IP version as the destination.
    pub src: SocketAddr,
    /// Destination.
    pub dst: SocketAddr,
    /// IPv4 TTL or IPv6 hop limit.
    pub ttl: u8,
    /// IPv4 type of service or IPv6 traffic class.
    pub tos: u8,
    /// Whether to have a UDP checksum; otherwise it is 0, which means none.
    pub udp_checksum: bool,
}

/// A SCION packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Scion {
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow id, 20 bits.
    pub flow_id: u32,
    /// Destination AS.
    pub dst_ia: IsdAs,
    /// Source AS.
    pub src_ia: IsdAs,
    /// Destination host.
    pub dst: Host,
    /// Source host.
    pub src: Host,
    /// The path.
    pub path: Path,
    /// Extension headers: the number of the first, and their bytes. Their next-header fields are set when the packet is
    /// built.
    pub extensions: Vec<(u8, Vec<u8>)>,
    /// The protocol number after the extension headers.
    pub next_hdr: u8,
    /// Everything after the SCION header and extensions, including the L4 header.
    pub payload: Vec<u8>,
    /// Number of words that HdrLen counts in addition to the path.
    pub extra_words: u8,
}

/// A host address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// IPv4 or IPv6.
    Ip(IpAddr),
    /// Any instance of a service.
    Service(u16),
    /// Any type (2 bits) and 4 to 16 bytes, a multiple of 4.
    Raw(u8, Vec<u8>),
}

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// Type 0.
    Empty,
    /// Type 1.
    Scion(ScionPath),
    /// Type 2.
    OneHop(Info, Hop, Hop),
    /// Type 3.
    Epic(Epic, ScionPath),
    /// Type 5.
    Hummingbird(HummingbirdPath),
    /// Any type and any bytes, a multiple of 4.
    Raw(u8, Vec<u8>),
}

/// A path of up to three segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScionPath {
    /// Current segment.
    pub curr_inf: u8,
    /// Index of the current hop over all segments.
    pub curr_hf: u8,
    /// The segments.
    pub segments: Vec<Segment>,
}

/// A segment: an info field and its hops in travel order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Info field.
    pub info: Info,
    /// Hop fields, at most 63.
    pub hops: Vec<Hop>,
}

/// An info field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Whether the segment starts or ends at a peering link.
    pub peering: bool,
    /// Whether the segment is travelled in construction direction.
    pub cons_dir: bool,
    /// The accumulator that chains the MACs.
    pub seg_id: u16,
    /// Seconds since 1970.
    pub timestamp: u32,
}

/// A hop field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Router alert for the ingress router (in construction direction).
    pub ingress_alert: bool,
    /// Router alert for the egress router (in construction direction).
    pub egress_alert: bool,
    /// Lifetime in units of 337.5 s, minus one.
    pub exp_time: u8,
    /// Ingress interface in construction direction.
    pub ingress: u16,
    /// Egress interface in construction direction.
    pub egress: u16,
    /// The MAC.
    pub mac: [u8; 6],
}

impl Hop {
    /// Creates a hop field between two interfaces, in construction direction, that expires after six hours. It is not
    /// signed.
    pub fn new(ingress: u16, egress: u16) -> Hop {
        Hop { exp_time: 63, ingress, egress, ..Hop::default() }
    }

    /// Returns the hop with its MAC for a segment id and timestamp.
    pub fn signed(mut self, key: &[u8; 16], seg_id: u16, timestamp: u32) -> Hop {
        let mac = full_mac(key, seg_id, timestamp, &self);
        self.mac.copy_from_slice(&mac[..6]);
        self
    }

    /// The bytes of the MAC that enter the chain.
    pub fn chain(&self) -> u16 {
        u16::from_be_bytes([self.mac[0], self.mac[1]])
    }

    /// Reads a hop field, whose 12 bytes must be there.
    pub(crate) fn parse(hop: &[u8]) -> Hop {
        let word = |at: usize| u16::from_be_bytes([hop[at], hop[at + 1]]);
        Hop {
            ingress_alert: hop[0] & 2 != 0,
            egress_alert: hop[0] & 1 != 0,
            exp_time: hop[1],
            ingress: word(2),
            egress: word(4),
            mac: [hop[6], hop[7], hop[8], hop[9], hop[10], hop[11]],
        }
    }

    fn pack(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.ingress_alert) << 1 | u8::from(self.egress_alert));
        out.push(self.exp_time);
        out.extend(self.ingress.to_be_bytes());
        out.extend(self.egress.to_be_bytes());
        out.extend(self.mac);
    }
}

/// AES-CMAC over the hop field's MAC input. The hop field contains the first 6 bytes.
pub fn full_mac(key: &[u8; 16], seg_id: u16, timestamp: u32, hop: &Hop) -> [u8; 16] {
    let mut input = [0; 16];
    input[2..4].copy_from_slice(&seg_id.to_be_bytes());
    input[4..8].copy_from_slice(&timestamp.to_be_bytes());
    input[9] = hop.exp_time;
    input[10..12].copy_from_slice(&hop.ingress.to_be_bytes());
    input[12..14].copy_from_slice(&hop.egress.to_be_bytes());
    let mut mac = <Cmac<Aes128> as Mac>::new(key.into());
    mac.update(&input);
    mac.finalize().into_bytes().into()
}

impl Info {
    /// Reads an info field, whose 8 bytes must be there.
    pub(crate) fn parse(info: &[u8]) -> Info {
        Info {
            peering: info[0] & 2 != 0,
            cons_dir: info[0] & 1 != 0,
            seg_id: u16::from_be_bytes([info[2], info[3]]),
            timestamp: u32::from_be_bytes([info[4], info[5], info[6], info[7]]),
        }
    }

    fn pack(&self, out: &mut Vec<u8>) {
        out.extend([u8::from(self.peering) << 1 | u8::from(self.cons_dir), 0]);
        out.extend(self.seg_id.to_be_bytes());
        out.extend(self.timestamp.to_be_bytes());
    }
}

impl ScionPath {
    /// Creates a path whose current hop is `curr_hf`.
    pub fn at(curr_hf: u8, segments: Vec<Segment>) -> ScionPath {
        let mut end = 0;
        let inside = segments.iter().position(|s| {
            end += s.hops.len();
            usize::from(curr_hf) < end
        });
        ScionPath { curr_inf: inside.unwrap_or(segments.len().saturating_sub(1)) as u8, curr_hf, segments }
    }

    /// Signs the current hop, and the next one if the segment changes after it, as the AS with this key would.
    /// `from_outside` says that the packet comes from another AS: a hop travelled against construction direction (and
    /// not at a peering link) is then still in the chain. Returns the full MAC of the current hop, if there is one.
    pub fn sign(&mut self, key: &[u8; 16], from_outside: bool) -> Option<[u8; 16]> {
        let (segment, hop) = self.position()?;
        let last = hop + 1 == self.segments[segment].hops.len();
        let peering = self.segments[segment].info.peering
            && self.segments.len() == 2
            && (last && segment == 0 || hop == 0 && segment == 1);
        let s = &mut self.segments[segment];
        let timestamp = s.info.timestamp;
        let mac = full_mac(key, s.info.seg_id, timestamp, &s.hops[hop]);
        s.hops[hop] = s.hops[hop].signed(key, s.info.seg_id, timestamp);
        if from_outside && !s.info.cons_dir && !peering {
            s.info.seg_id ^= s.hops[hop].chain();
        }
        if last
            && !peering
            && let Some(next) = self.segments.get_mut(segment + 1)
        {
            next.hops[0] = next.hops[0].signed(key, next.info.seg_id, next.info.timestamp);
        }
        Some(mac)
    }

    /// The index of the current hop's segment, and the hop's index in it.
    fn position(&self) -> Option<(usize, usize)> {
        let mut hop = usize::from(self.curr_hf);
        for (i, segment) in self.segments.iter().enumerate() {
            match hop.checked_sub(segment.hops.len()) {
                Some(rest) => hop = rest,
                None => return Some((i, hop)),
            }
        }
        None
    }

    fn pack(&self, out: &mut Vec<u8>) {
        let length = |i: usize| self.segments.get(i).map_or(0, |s| s.hops.len() as u32 & 0x3f);
        let meta = u32::from(self.curr_inf) << 30
            | u32::from(self.curr_hf & 0x3f) << 24
            | length(0) << 12
            | length(1) << 6
            | length(2);
        out.extend(meta.to_be_bytes());
        self.segments.iter().for_each(|s| s.info.pack(out));
        self.segments.iter().flat_map(|s| &s.hops).for_each(|h| h.pack(out));
    }
}

impl Path {
    /// Returns the path's type and bytes.
    pub(crate) fn pack(&self) -> (u8, Vec<u8>) {
        let mut out = Vec::new();
        let path_type = match self {
            Path::Empty => EMPTY_PATH,
            Path::Scion(path) => {
                path.pack(&mut out);
                1
            }
            Path::OneHop(info, first, second) => {
                info.pack(&mut out);
                first.pack(&mut out);
                second.pack(&mut out);
                2
            }
            Path::Epic(epic, path) => {
                epic.pack(&mut out);
                path.pack(&mut out);
                3
            }
            Path::Hummingbird(path) => {
                path.pack(&mut out);
                HUMMINGBIRD_PATH
            }
            Path::Raw(path_type, bytes) => {
                out.extend(bytes);
                *path_type
            }
        };
        (path_type, out)
    }
}

impl Host {
    fn pack(&self) -> (u8, Vec<u8>) {
        match self {
            Host::Ip(IpAddr::V4(ip)) => (0, ip.octets().into()),
            Host::Ip(IpAddr::V6(ip)) => (0, ip.octets().into()),
            Host::Service(service) => (1, [service.to_be_bytes(), [0; 2]].concat()),
            Host::Raw(host_type, bytes) => (host_type & 3, bytes.clone()),
        }
    }
}

impl Scion {
    /// The length of the header in bytes, which may exceed what its length field can express.
    pub fn header_bytes(&self) -> usize {
        let host = |host: &Host| host.pack().1.len();
        28 + host(&self.dst) + host(&self.src) + self.path.pack().1.len() + 4 * usize::from(self.extra_words)
    }

    /// Computes the checksum of the payload for a protocol number: over a pseudo-header of addresses, length and
    /// number, and the payload, whose checksum field must be zero.
    /// <https://docs.scion.org/en/latest/protocols/scion-header.html#pseudo-header-for-upper-layer-checksum>
    pub fn payload_checksum(&self, protocol: u8) -> u16 {
        let ias = sum(&self.dst_ia.0.to_be_bytes()) + sum(&self.src_ia.0.to_be_bytes());
        let hosts = sum(&self.dst.pack().1) + sum(&self.src.pack().1);
        !fold(ias + hosts + self.payload.len() as u64 + u64::from(protocol) + sum(&self.payload))
    }

    /// Builds the packet.
    pub fn pack(&self) -> Vec<u8> {
        let (path_type, path) = self.path.pack();
        let ((dst_type, dst), (src_type, src)) = (self.dst.pack(), self.src.pack());
        let words = (28 + dst.len() + src.len() + path.len()) / 4 + usize::from(self.extra_words);
        let mut behind = Vec::new();
        for (i, (_, extension)) in self.extensions.iter().enumerate() {
            let next = self.extensions.get(i + 1).map_or(self.next_hdr, |(number, _)| *number);
            let start = behind.len();
            behind.extend(extension);
            if let Some(byte) = behind.get_mut(start) {
                *byte = next;
            }
        }
        behind.extend(&self.payload);

        let mut out = Vec::with_capacity(words * 4 + behind.len());
        out.extend((u32::from(self.traffic_class) << 20 | self.flow_id & 0xf_ffff).to_be_bytes());
        out.push(self.extensions.first().map_or(self.next_hdr, |(number, _)| *number));
        out.push(words as u8);
        out.extend((behind.len() as u16).to_be_bytes());
        out.push(path_type);
        let length = |host: &[u8]| (host.len() / 4).wrapping_sub(1) as u8 & 3;
        out.push(dst_type << 6 | length(&dst) << 4 | src_type << 2 | length(&src));
        out.extend([0; 2]);
        out.extend(self.dst_ia.0.to_be_bytes());
        out.extend(self.src_ia.0.to_be_bytes());
        out.extend(dst);
        out.extend(src);
        out.extend(path);
        out.resize(out.len() + usize::from(self.extra_words) * 4, 0);
        out.extend(behind);
        out
    }
}

impl Frame {
    /// Builds the frame.
    pub fn pack(&self) -> Vec<u8> {
        let Frame { dst_mac, src_mac, src, dst, ttl, tos, udp_checksum, .. } = *self;
        Envelope { dst_mac, src_mac, src, dst, ttl, tos, udp_checksum }.around(&self.scion.pack())
    }
}

impl Envelope {
    /// Builds a frame around a payload.
    pub fn around(&self, payload: &[u8]) -> Vec<u8> {
        let udp_length = (payload.len() + 8) as u16;
        let mut udp = Vec::with_capacity(payload.len() + 8);
        udp.extend(self.src.port().to_be_bytes());
        udp.extend(self.dst.port().to_be_bytes());
        udp.extend(udp_length.to_be_bytes());
        udp.extend([0; 2]);
        udp.extend(payload);
        if self.udp_checksum {
            let checksum = udp_checksum(self.src.ip(), self.dst.ip(), &udp);
            udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        }

        let mut out = Vec::with_capacity(54 + udp.len());
        out.extend(self.dst_mac);
        out.extend(self.src_mac);
        match (self.src.ip(), self.dst.ip()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                out.extend([0x08, 0x00]);
                let start = out.len();
                out.extend([0x45, self.tos]);
                out.extend((udp_length + 20).to_be_bytes());
                out.extend([0, 0, 0x40, 0, self.ttl, UDP, 0, 0]);
                out.extend(src.octets());
                out.extend(dst.octets());
                let checksum = internet_checksum(&out[start..]);
                out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
            }
            (src, dst) => {
                out.extend([0x86, 0xdd]);
                out.extend((6 << 28 | u32::from(self.tos) << 20).to_be_bytes());
                out.extend(udp_length.to_be_bytes());
                out.extend([UDP, self.ttl]);
                out.extend(to_ipv6(src).octets());
                out.extend(to_ipv6(dst).octets());
            }
        }
        out.extend(udp);
        out
    }
}

fn to_ipv6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

/// Returns the checksum of a UDP datagram, including its header. The current value of the checksum field is ignored.
pub fn udp_checksum(src: IpAddr, dst: IpAddr, datagram: &[u8]) -> u16 {
    let addresses = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => sum(&src.octets()) + sum(&dst.octets()),
        (src, dst) => sum(&to_ipv6(src).octets()) + sum(&to_ipv6(dst).octets()),
    };
    let (head, tail) = datagram.split_at(datagram.len().min(6));
    let body = sum(head) + sum(tail.get(2..).unwrap_or_default());
    let checksum = !fold(addresses + u64::from(UDP) + datagram.len() as u64 + body);
    // Zero means that there is no checksum (RFC 768).
    if checksum == 0 { 0xffff } else { checksum }
}

/// The Internet checksum of some bytes (RFC 1071).
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    !fold(sum(bytes))
}

/// Returns the sum of 16-bit words for Internet checksums (RFC 1071), not folded.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| u64::from(*b))).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// Returns what is wrong with the checksums of a frame with UDP over IPv4 or IPv6, for tests; `None` if they are
/// correct. A missing UDP checksum is correct over IPv4.
pub fn checksum_fault(frame: &[u8]) -> Option<&'static str> {
    let (addresses, udp) = match frame.get(12..14)? {
        [0x08, 0x00] => {
            let header = frame.get(14..34)?;
            if fold(sum(header)) != 0xffff {
                return Some("IPv4 header checksum");
            }
            let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
            (sum(&header[12..]), frame.get(34..14 + total)?)
        }
        [0x86, 0xdd] => {
            let length = usize::from(u16::from_be_bytes([*frame.get(18)?, *frame.get(19)?]));
            (sum(frame.get(22..54)?), frame.get(54..54 + length)?)
        }
        _ => return None,
    };
    match udp.get(6..8)? {
        [0, 0] if frame[12] == 0x08 => None,
        [0, 0] => Some("no UDP checksum over IPv6"),
        _ if fold(addresses + u64::from(UDP) + udp.len() as u64 + sum(udp)) == 0xffff => None,
        _ => Some("UDP checksum"),
    }
}

/// Builds a SCION/UDP payload: a header with ports and length, no checksum, and some bytes.
pub fn udp_payload(src_port: u16, dst_port: u16, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + data.len());
    out.extend(src_port.to_be_bytes());
    out.extend(dst_port.to_be_bytes());
    out.extend((8 + data.len() as u16).to_be_bytes());
    out.extend([0; 2]);
    out.extend(data);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// doc/protocols/scion-header.rst, "Hop Field MAC - Computation".
    #[test]
    fn mac_input_layout() {
        let hop = Hop { exp_time: 5, ingress: 0x0102, egress: 0x0304, ..Hop::default() };
        let key = *b"0123456789abcdef";
        let mut mac = <Cmac<Aes128> as Mac>::new(&key.into());
        mac.update(&[0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0, 5, 1, 2, 3, 4, 0, 0]);
        assert_eq!(full_mac(&key, 0x1122, 0x3344_5566, &hop), <[u8; 16]>::from(mac.finalize().into_bytes()));
    }

    fn frame(src: &str, dst: &str) -> Frame {
        let info = Info { peering: false, cons_dir: true, seg_id: 0x111, timestamp: 100 };
        let hops = vec![Hop::new(0, 1), Hop::new(2, 0)];
        Frame {
            dst_mac: [1; 6],
            src_mac: [2; 6],
            src: src.parse().unwrap(),
            dst: dst.parse().unwrap(),
            ttl: 64,
            tos: 0,
            udp_checksum: true,
            scion: Scion {
                traffic_class: 0xb8,
                flow_id: 0xdead,
                dst_ia: IsdAs(2),
                src_ia: IsdAs(1),
                dst: Host::Ip("10.0.0.1".parse().unwrap()),
                src: Host::Service(2),
                path: Path::Scion(ScionPath::at(1, vec![Segment { info, hops }])),
                extensions: vec![],
                next_hdr: UDP,
                payload: udp_payload(1, 2, b"hello"),
                extra_words: 0,
            },
        }
    }

    #[test]
    fn layout_and_checksums() {
        let v4 = frame("10.0.0.1:1", "10.0.0.2:2").pack();
        assert_eq!(v4.len(), 14 + 20 + 8 + 36 + 36 + 13);
        assert_eq!(checksum_fault(&v4), None);
        let scion = &v4[42..];
        assert_eq!(scion[..12], [0x0b, 0x80, 0xde, 0xad, 17, 18, 0, 13, 1, 0b0000_0100, 0, 0]);
        assert_eq!(scion[36..40], [0x01, 0, 0x20, 0]);
        assert_eq!(scion[40..48], [1, 0, 0x01, 0x11, 0, 0, 0, 100]);
        let v6 = frame("[fd00::1]:1", "[fd00::2]:2").pack();
        assert_eq!(v6.len(), v4.len() + 20);
        assert_eq!(checksum_fault(&v6), None);
        let mut wrong = v4.clone();
        *wrong.last_mut().unwrap() ^= 1;
        assert_eq!(checksum_fault(&wrong), Some("UDP checksum"));
        wrong[30] ^= 1;
        assert_eq!(checksum_fault(&wrong), Some("IPv4 header checksum"));
    }

    #[test]
    fn extension_headers_are_linked() {
        let mut f = frame("10.0.0.1:1", "10.0.0.2:2");
        f.scion.extensions = vec![(HOP_BY_HOP, vec![0, 0, 1, 0]), (END_TO_END, vec![0, 0, 1, 0])];
        let bytes = f.scion.pack();
        assert_eq!(bytes[4], HOP_BY_HOP);
        assert_eq!((bytes[72], bytes[76]), (END_TO_END, UDP));
        assert_eq!(bytes[6..8], [0, 21]);
    }
}
