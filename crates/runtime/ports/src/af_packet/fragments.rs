//! Reassembles UDP datagrams that arrive in IPv6 fragments (RFC 8200, section 4.5). A packet socket sees the fragments.
//!
//! The kernel reassembles them, too, for the UDP socket of the same address. Its filter cannot tell a reassembled
//! datagram from one that arrived whole, which the packet socket took, unless it is longer than the device's MTU; see
//! `Filter::but_raw`. Therefore datagrams up to the MTU are reassembled here, and longer ones are left to the kernel.
//!
//! The memory is bounded: when too many datagrams are incomplete, a new one takes the place of the oldest.

use std::time::{Duration, Instant};

use hopwright_dataplane::packet::JUMBO_BYTES;

const ETHERNET: usize = 14;
const IPV6: usize = 40;
/// The length of the fragment header in bytes.
const FRAGMENT: usize = 8;
/// Where the packet's payload begins, without a fragment header.
const PAYLOAD: usize = ETHERNET + IPV6;
/// The next-header values of fragments and of UDP.
const NEXT_FRAGMENT: u8 = 44;
const NEXT_UDP: u8 = 17;

/// The maximum number of incomplete datagrams.
const DATAGRAMS: usize = 32;
/// How long the first fragment to arrive waits for the others.
const LIFETIME: Duration = Duration::from_secs(60);
/// Fragments begin at multiples of this many bytes.
const UNIT: usize = 8;
const WORDS: usize = LONGEST.div_ceil(UNIT * 64);
/// The length of the longest frame that is reassembled, in bytes.
const LONGEST: usize = JUMBO_BYTES as usize;

/// What tells the fragments of one datagram from others: source, destination and identification.
type Key = [u8; 36];

/// Datagrams of which some fragments have arrived.
pub(super) struct Fragments {
    datagrams: [Datagram; DATAGRAMS],
    /// For each datagram the frame without fragment header, as far as it has arrived.
    frames: Box<[u8]>,
}

#[derive(Clone, Copy)]
struct Datagram {
    /// `None` for a free place.
    key: Option<Key>,
    begun: Instant,
    /// The units of the payload that have arrived.
    arrived: [u64; WORDS],
    /// The payload's length, once the last fragment has arrived.
    length: Option<usize>,
    /// Fragments contradict each other. All that are still to come are dropped, too.
    invalid: bool,
}

/// A fragment of a UDP datagram.
struct Fragment<'a> {
    key: Key,
    /// Ethernet and IPv6 header.
    headers: &'a [u8],
    offset: usize,
    more: bool,
    payload: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// Parses an untagged frame. Returns `None` if it is no fragment of a UDP datagram, or an invalid one.
    fn parse(frame: &'a [u8]) -> Option<Fragment<'a>> {
        let headers = frame.get(..PAYLOAD)?;
        let length = usize::from(u16::from_be_bytes([headers[18], headers[19]]));
        let (header, payload) = frame.get(PAYLOAD..PAYLOAD + length)?.split_first_chunk::<FRAGMENT>()?;
        if headers[12..14] != [0x86, 0xdd] || headers[14] >> 4 != 6 || headers[20] != NEXT_FRAGMENT {
            return None;
        }
        let field = u16::from_be_bytes([header[2], header[3]]);
        let (offset, more) = (usize::from(field & !7), field & 1 == 1);
        if header[0] != NEXT_UDP || payload.is_empty() || (more && payload.len() % UNIT != 0) {
            return None;
        }
        let mut key = [0; 36];
        key[..32].copy_from_slice(&headers[22..]);
        key[32..].copy_from_slice(&header[4..]);
        Some(Fragment { key, headers, offset, more, payload })
    }

    fn end(&self) -> usize {
        self.offset + self.payload.len()
    }
}

impl Datagram {
    fn begin(key: Option<Key>, begun: Instant) -> Datagram {
        Datagram { key, begun, arrived: [0; WORDS], length: None, invalid: false }
    }

    /// Adds a fragment that fits the frame. Returns false if it contradicts others: it overlaps them (RFC 5722), or the
    /// datagram has two ends.
    fn add(&mut self, fragment: &Fragment<'_>, frame: &mut [u8]) -> bool {
        let (first, last) = (fragment.offset / UNIT, fragment.end().div_ceil(UNIT));
        let has = |unit: usize| self.arrived[unit / 64] >> (unit % 64) & 1 == 1;
        match (first..last).filter(|unit| has(*unit)).count() {
            0 => {}
            // A repeated fragment is ignored.
            count if count == last - first => return fragment.more || self.length == Some(fragment.end()),
            _ => return false,
        }
        if self.length.is_some_and(|length| fragment.end() > length || !fragment.more) {
            return false;
        }
        if !fragment.more {
            if (last..WORDS * 64).any(has) {
                return false;
            }
            self.length = Some(fragment.end());
        }
        (first..last).for_each(|unit| self.arrived[unit / 64] |= 1 << (unit % 64));
        frame[PAYLOAD + fragment.offset..][..fragment.payload.len()].copy_from_slice(fragment.payload);
        if fragment.offset == 0 {
            frame[..PAYLOAD].copy_from_slice(fragment.headers);
        }
        true
    }

    /// Returns the payload's length if all fragments have arrived.
    fn whole(&self) -> Option<usize> {
        let arrived: u32 = self.arrived.iter().map(|word| word.count_ones()).sum();
        self.length.filter(|length| arrived as usize == length.div_ceil(UNIT))
    }
}

/// Whether an untagged frame carries an IPv6 fragment.
#[inline]
pub(super) fn is_fragment(frame: &[u8]) -> bool {
    matches!(frame.get(12..21), Some([0x86, 0xdd, .., NEXT_FRAGMENT]))
}

impl Fragments {
    pub(super) fn new() -> Fragments {
        // Pages of the frames are allocated when they are first used.
        let frames = vec![0; DATAGRAMS * LONGEST].into();
        Fragments { datagrams: [Datagram::begin(None, Instant::now()); DATAGRAMS], frames }
    }

    /// Adds a frame that is a fragment, and returns the frame of the whole datagram if that was the last one. Datagrams
    /// that make frames longer than `longest` bytes are dropped.
    pub(super) fn add(&mut self, frame: &[u8], longest: usize, now: Instant) -> Option<&[u8]> {
        let fragment = Fragment::parse(frame)?;
        // A datagram of one fragment has nothing to do with others of the same identification (RFC 6946).
        let alone = fragment.offset == 0 && !fragment.more;
        let known = |datagram: &Datagram| datagram.key == Some(fragment.key) && now < datagram.begun + LIFETIME;
        let found = if alone { None } else { self.datagrams.iter().position(known) };
        let fits = PAYLOAD + fragment.end() <= longest.min(LONGEST);
        let at = match found {
            Some(at) => at,
            None if !fits => return None,
            None => {
                let age = |at: &usize| self.datagrams[*at].key.map(|_| self.datagrams[*at].begun);
                let at = (0..DATAGRAMS).min_by_key(age)?;
                self.datagrams[at] = Datagram::begin(Some(fragment.key), now);
                at
            }
        };
        let datagram = &mut self.datagrams[at];
        if !fits {
            datagram.key = None;
            return None;
        }
        let frame = &mut self.frames[at * LONGEST..][..LONGEST];
        datagram.invalid |= !datagram.add(&fragment, frame);
        let length = datagram.whole().filter(|_| !datagram.invalid)?;
        datagram.key = None;
        frame[18..20].copy_from_slice(&(length as u16).to_be_bytes());
        frame[20] = NEXT_UDP;
        Some(&frame[..PAYLOAD + length])
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use proptest::prelude::*;

    use super::*;
    use crate::filter::test_frames;

    /// A UDP datagram with this payload.
    fn whole(payload: &[u8]) -> Vec<u8> {
        let mut frame = test_frames::udp6([2, 0, 0, 0, 0, 1], Ipv6Addr::LOCALHOST, 50000);
        frame.truncate(PAYLOAD + 8);
        frame.extend(payload);
        let length = (frame.len() - PAYLOAD) as u16;
        frame[18..20].copy_from_slice(&length.to_be_bytes());
        frame[58..60].copy_from_slice(&length.to_be_bytes());
        frame
    }

    /// The fragment of a datagram from byte `first` of the IPv6 payload up to byte `end`.
    fn fragment(whole: &[u8], identification: u32, first: usize, end: usize) -> Vec<u8> {
        let payload = &whole[PAYLOAD + first..PAYLOAD + end];
        let mut frame = whole[..PAYLOAD].to_vec();
        frame[18..20].copy_from_slice(&((FRAGMENT + payload.len()) as u16).to_be_bytes());
        frame[20] = NEXT_FRAGMENT;
        let more = u16::from(PAYLOAD + end < whole.len());
        frame.extend([NEXT_UDP, 0]);
        frame.extend((first as u16 | more).to_be_bytes());
        frame.extend(identification.to_be_bytes());
        frame.extend(payload);
        // Padding of the link.
        frame.resize(frame.len().max(60), 0xee);
        frame
    }

    /// The fragments of a datagram, cut at these multiples of eight bytes.
    fn cut(whole: &[u8], identification: u32, at: &[usize]) -> Vec<Vec<u8>> {
        let mut bounds: Vec<_> = [0].into_iter().chain(at.iter().map(|unit| 8 * unit)).collect();
        bounds.push(whole.len() - PAYLOAD);
        bounds.windows(2).map(|pair| fragment(whole, identification, pair[0], pair[1])).collect()
    }

    fn add(fragments: &mut Fragments, frame: &[u8]) -> Option<Vec<u8>> {
        assert!(is_fragment(frame));
        fragments.add(frame, 1514, Instant::now()).map(<[u8]>::to_vec)
    }

    proptest! {
        #[test]
        fn any_order_makes_the_whole(
            payload in prop::collection::vec(any::<u8>(), 100..1452),
            mut at in prop::collection::btree_set(1usize..12, 0..5).prop_map(Vec::from_iter),
            order in any::<u64>(),
        ) {
            let whole = whole(&payload);
            at.sort_unstable();
            let mut pieces = cut(&whole, 7, &at);
            // Some come twice, in some order.
            pieces.extend_from_within(..pieces.len() / 2);
            let last_of = pieces.len();
            pieces.rotate_left((order % last_of as u64) as usize);
            if order >> 63 == 1 {
                pieces.reverse();
            }
            let mut fragments = Fragments::new();
            let got: Vec<_> = pieces.iter().filter_map(|piece| add(&mut fragments, piece)).collect();
            prop_assert!(!got.is_empty() && got.iter().all(|frame| *frame == whole));
        }

        #[test]
        fn whatever_comes_is_no_reason_to_panic(
            frames in prop::collection::vec(
                (0u16..1400, any::<bool>(), prop::collection::vec(any::<u8>(), 0..200), 0u32..3), 1..100)
        ) {
            let mut fragments = Fragments::new();
            for (field, is_udp, payload, identification) in frames {
                let mut frame = fragment(&whole(&[0; 8]), identification, 0, 16);
                frame.truncate(PAYLOAD + 8);
                frame.extend(&payload);
                frame[18..20].copy_from_slice(&((FRAGMENT + payload.len()) as u16).to_be_bytes());
                frame[PAYLOAD] = if is_udp { NEXT_UDP } else { 6 };
                frame[PAYLOAD + 2..PAYLOAD + 4].copy_from_slice(&field.to_be_bytes());
                if let Some(made) = add(&mut fragments, &frame) {
                    prop_assert!(made.len() <= 1514 && made[20] == NEXT_UDP);
                    prop_assert_eq!(usize::from(u16::from_be_bytes([made[18], made[19]])), made.len() - PAYLOAD);
                }
            }
        }
    }

    #[test]
    fn datagrams_longer_than_the_mtu_are_the_kernels() {
        let mut fragments = Fragments::new();
        for (length, taken) in [(1452, true), (1453, false)] {
            let whole = whole(&vec![3; length]);
            let got: Vec<_> = cut(&whole, 1, &[100]).iter().filter_map(|piece| add(&mut fragments, piece)).collect();
            assert_eq!(got.len(), usize::from(taken), "{length}");
        }
        assert!(fragments.datagrams.iter().all(|datagram| datagram.key.is_none()));
    }

    #[test]
    fn contradictory_fragments_spoil_the_datagram() {
        let whole = whole(&[5; 200]);
        for (what, extra) in [
            ("they overlap", fragment(&whole, 1, 8, 24)),
            ("it ends twice", fragment(&whole[..whole.len() - 1], 1, 104, whole.len() - PAYLOAD - 1)),
            ("it goes beyond the end", fragment(&self::whole(&[5; 300]), 1, 208, 232)),
        ] {
            let mut pieces = cut(&whole, 1, &[2, 13]);
            pieces.swap(1, 2);
            pieces.insert(2, extra);
            let mut fragments = Fragments::new();
            assert!(pieces.iter().all(|piece| add(&mut fragments, piece).is_none()), "{what}");
        }
    }

    #[test]
    fn what_is_no_fragment_of_a_datagram_is_dropped() {
        let whole = whole(&[5; 200]);
        let mut fragments = Fragments::new();
        let good = fragment(&whole, 1, 0, 16);
        let mut tcp = good.clone();
        tcp[PAYLOAD] = 6;
        // All but the last are multiples of eight bytes long.
        let uneven = fragment(&whole, 1, 0, 15);
        let empty = fragment(&whole, 1, 0, 0);
        for bad in [&tcp, &uneven, &empty] {
            assert_eq!(add(&mut fragments, bad), None);
        }
        for length in 21..PAYLOAD + FRAGMENT + 16 {
            assert_eq!(add(&mut fragments, &good[..length]), None);
        }
        assert!(fragments.datagrams.iter().all(|datagram| datagram.key.is_none()));
        assert!(!is_fragment(&whole) && !is_fragment(&good[..20]));
    }

    #[test]
    fn a_new_datagram_takes_the_place_of_the_oldest() {
        let (whole, now) = (whole(&[5; 200]), Instant::now());
        let mut fragments = Fragments::new();
        let count = DATAGRAMS as u32 + 1;
        let at = |identification: u32| now + Duration::from_millis(identification.into());
        for identification in 0..count {
            let [first, _] = &cut(&whole, identification, &[2])[..] else { unreachable!() };
            assert_eq!(fragments.add(first, 1514, at(identification)), None);
        }
        for identification in (0..count).rev() {
            let [_, second] = &cut(&whole, identification, &[2])[..] else { unreachable!() };
            let made = fragments.add(second, 1514, at(count));
            assert_eq!(made, (identification > 0).then_some(&whole[..]), "{identification}");
        }
        // A datagram of one fragment stands alone.
        let [first, second] = &cut(&whole, 1, &[2])[..] else { unreachable!() };
        assert_eq!(fragments.add(first, 1514, now), None);
        assert_eq!(fragments.add(&cut(&whole, 1, &[])[0], 1514, now), Some(&whole[..]));
        // Fragments do not wait for ever.
        assert_eq!(fragments.add(second, 1514, now + LIFETIME), None);
    }
}
