//! Path type Hummingbird: a SCION path whose hops may carry reservations ("flyovers").
//!
//! <https://github.com/scionproto/scion/pull/4928>, `doc/dev/design/Hummingbird.rst`

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit};

use super::ScionPath;
use crate::packet::ia::IsdAs;

/// The words of a hop field, and what a flyover adds.
const HOP_WORDS: usize = 3;
/// See [`HOP_WORDS`].
const FLYOVER_WORDS: usize = 2;

/// What names a packet, in its path meta header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Seconds since 1970: the base of the other times in the path.
    pub base_timestamp: u32,
    /// Milliseconds since then when the packet was sent (upper 10 bits), and a counter of the packets of one moment (22).
    pub millis_and_counter: u32,
}

/// A reservation, as a hop field names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flyover {
    /// Its number, 22 bits. Reservations of different interfaces may have the same.
    pub res_id: u32,
    /// Its bandwidth, 10 bits, in units of 64 bytes per second.
    pub bandwidth: u16,
    /// Seconds from its start to the base timestamp.
    pub start_offset: u16,
    /// Its duration in seconds.
    pub duration: u16,
}

impl Flyover {
    /// Computes the MAC of a packet of `bytes` bytes to an AS, for a reservation from one interface to another.
    pub fn mac(
        &self,
        secret_value: &[u8; 16],
        (ingress, egress): (u16, u16),
        sent: Sent,
        dst_ia: IsdAs,
        bytes: u16,
    ) -> [u8; 6] {
        let start = sent.base_timestamp.wrapping_sub(self.start_offset.into());
        let mut key = [0; 16];
        key[..2].copy_from_slice(&ingress.to_be_bytes());
        key[2..4].copy_from_slice(&egress.to_be_bytes());
        key[4..8].copy_from_slice(&self.name().to_be_bytes());
        key[8..12].copy_from_slice(&start.to_be_bytes());
        key[12..14].copy_from_slice(&self.duration.to_be_bytes());
        Aes128::new(secret_value.into()).encrypt_block((&mut key).into());
        let mut block = [0; 16];
        block[..8].copy_from_slice(&dst_ia.0.to_be_bytes());
        block[8..10].copy_from_slice(&bytes.to_be_bytes());
        block[10..12].copy_from_slice(&self.start_offset.to_be_bytes());
        block[12..].copy_from_slice(&sent.millis_and_counter.to_be_bytes());
        Aes128::new(&key.into()).encrypt_block((&mut block).into());
        std::array::from_fn(|i| block[i])
    }

    fn name(&self) -> u32 {
        self.res_id << 10 | u32::from(self.bandwidth & 0x3ff)
    }

    fn pack(&self, out: &mut Vec<u8>) {
        out.extend(self.name().to_be_bytes());
        out.extend(self.start_offset.to_be_bytes());
        out.extend(self.duration.to_be_bytes());
    }

    fn parse(bytes: &[u8]) -> Option<Flyover> {
        let name = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?);
        let word = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        Some(Flyover { res_id: name >> 10, bandwidth: name as u16 & 0x3ff, start_offset: word(4)?, duration: word(6)? })
    }
}

/// A SCION path, and the reservations of its hops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HummingbirdPath {
    /// What names the packet.
    pub sent: Sent,
    /// The path. Its indices count hops.
    pub path: ScionPath,
    /// The reservation of each hop. Missing ones at the end are `None`.
    pub flyovers: Vec<Option<Flyover>>,
}

impl HummingbirdPath {
    /// The length of the path meta header in bytes.
    pub const META: usize = 12;

    /// Returns the path with no reservations.
    pub fn without_flyovers(sent: Sent, path: ScionPath) -> HummingbirdPath {
        HummingbirdPath { sent, path, flyovers: Vec::new() }
    }

    /// The reservation of a hop.
    pub fn flyover(&self, hop: usize) -> Option<Flyover> {
        self.flyovers.get(hop).copied().flatten()
    }

    /// Where a hop begins, in words from the first hop field.
    pub fn word_of(&self, hop: usize) -> usize {
        (0..hop).map(|i| self.words(i)).sum()
    }

    /// The length of the path in bytes.
    pub fn bytes(&self) -> usize {
        let hops = self.path.segments.iter().map(|segment| segment.hops.len()).sum();
        Self::META + 8 * self.path.segments.len() + 4 * self.word_of(hops)
    }

    fn words(&self, hop: usize) -> usize {
        if self.flyover(hop).is_some() { HOP_WORDS + FLYOVER_WORDS } else { HOP_WORDS }
    }

    /// The interfaces that the reservation of the current hop is between: by which the packet enters the AS, and by which it leaves. At
    /// a segment change within the AS these are of two hops. `None` if there is no current hop.
    pub fn interfaces(&self) -> Option<(u16, u16)> {
        let (segment, hop) = self.path.position()?;
        let directed = |segment: usize, hop: usize| {
            let segment = &self.path.segments[segment];
            let hop = segment.hops[hop];
            if segment.info.cons_dir { (hop.ingress, hop.egress) } else { (hop.egress, hop.ingress) }
        };
        let (mut ingress, mut egress) = directed(segment, hop);
        let peering = self.path.segments[segment].info.peering;
        if hop + 1 == self.path.segments[segment].hops.len() && segment + 1 < self.path.segments.len() && !peering {
            egress = directed(segment + 1, 0).1;
        } else if hop == 0 && segment > 0 && !peering {
            ingress = directed(segment - 1, self.path.segments[segment - 1].hops.len() - 1).0;
        }
        Some((ingress, egress))
    }

    /// Puts the current hop's reservation into its MAC, or takes it out: the operation is its own inverse. `bytes` is the length of the
    /// SCION packet.
    pub fn aggregate(&mut self, secret_value: &[u8; 16], dst_ia: IsdAs, bytes: u16) {
        let (Some(flyover), Some(interfaces)) = (self.flyover(self.path.curr_hf.into()), self.interfaces()) else {
            return;
        };
        let mac = flyover.mac(secret_value, interfaces, self.sent, dst_ia, bytes);
        if let Some((segment, hop)) = self.path.position() {
            let hop = &mut self.path.segments[segment].hops[hop];
            hop.mac.iter_mut().zip(mac).for_each(|(a, b)| *a ^= b);
        }
    }

    /// The bytes of the path.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.pack(&mut out);
        out
    }

    pub(super) fn pack(&self, out: &mut Vec<u8>) {
        let mut first = 0;
        let mut lengths = self.path.segments.iter().map(|segment| {
            let words: usize = (first..first + segment.hops.len()).map(|hop| self.words(hop)).sum();
            first += segment.hops.len();
            words as u32 & 0x7f
        });
        let [a, b, c] = std::array::from_fn(|_| lengths.next().unwrap_or(0));
        let current = self.word_of(self.path.curr_hf.into()) as u32 & 0xff;
        out.extend((u32::from(self.path.curr_inf) << 30 | current << 22 | a << 14 | b << 7 | c).to_be_bytes());
        out.extend(self.sent.base_timestamp.to_be_bytes());
        out.extend(self.sent.millis_and_counter.to_be_bytes());
        self.path.segments.iter().for_each(|s| s.info.pack(out));
        for (i, hop) in self.path.segments.iter().flat_map(|s| &s.hops).enumerate() {
            let start = out.len();
            hop.pack(out);
            if let Some(flyover) = self.flyover(i) {
                out[start] |= 0x80;
                flyover.pack(out);
            }
        }
    }

    /// Parses a path. Returns `None` if there are gaps between segments, too few bytes, or hop fields that are not whole in their
    /// segment, or if CurrINF and CurrHF do not match or the latter is not where a hop field begins. Extra bytes are ignored.
    pub fn parse(bytes: &[u8]) -> Option<HummingbirdPath> {
        let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let meta = word(0)?;
        let lengths = [14, 7, 0].map(|shift| (meta >> shift & 0x7f) as usize);
        let count = lengths.iter().rposition(|l| *l != 0)? + 1;
        if lengths[..count].contains(&0) {
            return None;
        }
        let (infos, mut rest) = bytes.get(Self::META..)?.split_at_checked(8 * count)?;
        let (curr_inf, current) = ((meta >> 30) as u8, (meta >> 22 & 0xff) as usize);
        let (mut segments, mut flyovers) = (Vec::new(), Vec::new());
        let (mut at, mut end, mut found) = (0, 0, None);
        for (info, length) in infos.chunks_exact(8).zip(lengths) {
            end += length;
            let mut hops = Vec::new();
            while at < end {
                if at == current {
                    found = Some((segments.len() as u8, u8::try_from(flyovers.len()).ok()?));
                }
                let is_flyover = rest.first()? & 0x80 != 0;
                let words = if is_flyover { HOP_WORDS + FLYOVER_WORDS } else { HOP_WORDS };
                let (hop, behind) = rest.split_at_checked(4 * words)?;
                flyovers.push(if is_flyover { Some(Flyover::parse(&hop[4 * HOP_WORDS..])?) } else { None });
                hops.push(super::Hop::parse(hop));
                rest = behind;
                at += words;
            }
            segments.push(super::Segment { info: super::Info::parse(info), hops });
            if at != end {
                return None;
            }
        }
        let (segment, hop) = found.filter(|(segment, _)| *segment == curr_inf)?;
        let sent = Sent { base_timestamp: word(4)?, millis_and_counter: word(8)? };
        Some(HummingbirdPath { sent, path: ScionPath { curr_inf: segment, curr_hf: hop, segments }, flyovers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values computed with the reference's `DeriveAuthKey` and `FullFlyoverMac` (pull request 4928, cb3e98a59ae7).
    #[test]
    fn macs_are_the_references() {
        let secret_value = std::array::from_fn(|i| i as u8);
        let flyover = |res_id, bandwidth, start_offset, duration| Flyover { res_id, bandwidth, start_offset, duration };
        let sent = |base_timestamp, millis_and_counter| Sent { base_timestamp, millis_and_counter };
        let mac = flyover(0x40, 0x203, 0x10, 0x203).mac(
            &secret_value,
            (2, 5),
            sent(0x6b0c_4667, 500 << 22 | 7),
            IsdAs(0x0001_ff00_0000_0110),
            0x123,
        );
        assert_eq!(mac, [0xa4, 0x46, 0x29, 0x27, 0x25, 0xb3]);
        let mac = flyover(0x3f_ffff, 0x3ff, 0xffff, 0xffff).mac(
            &secret_value,
            (0xffff, 0xfffe),
            sent(5, u32::MAX),
            IsdAs(u64::MAX),
            0xffff,
        );
        assert_eq!(mac, [0xae, 0x50, 0x92, 0xd2, 0x3e, 0x1a]);
        let mac = Flyover::default().mac(&secret_value, (0, 0), Sent::default(), IsdAs(0), 0);
        assert_eq!(mac, [0x2c, 0x57, 0x8f, 0x79, 0x27, 0xa9]);
    }
}
