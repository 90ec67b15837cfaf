//! UDP segmentation offload (the kernel's GSO). Datagrams of one flow that leave together are joined into one long
//! frame, which the device, or the kernel behind a virtual device, segments again. Joined frames from senders on the
//! same machine are segmented on receipt.
//!
//! Most of the kernel's work on a frame does not depend on its length, so a frame of forty datagrams costs little more
//! than one datagram. The receiver sees the same datagrams. Frames are joined only if segmentation restores every byte
//! of them, with two exceptions: the identification of IPv4 packets with the don't-fragment flag, which has no meaning
//! (RFC 6864), and, if the sender allows it, UDP checksums that were absent.

use hopwright_dataplane::Packet;

use crate::offload::checksum;

/// The maximum number of datagrams in a joined frame: what every kernel accepts (`UDP_MAX_SEGMENTS`).
pub(crate) const MOST: usize = 64;
/// The maximum length of a joined frame in bytes. Devices accept somewhat less than 64 KiB.
pub(crate) const LONGEST: usize = 60 << 10;
/// The length of the `virtio_net_hdr` that precedes a joined frame, in bytes.
pub(crate) const OFFLOADS: usize = 10;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum field contains only the pseudo-header's sum.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_UDP_L4`, since Linux 6.2.
const UDP_SEGMENTS: u8 = 5;
/// `VIRTIO_NET_HDR_GSO_ECN`, a flag that may be combined with a type.
const ECN: u8 = 0x80;

const ETHERNET: usize = 14;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const DONT_FRAGMENT: u16 = 0x4000;

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn set_word(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Returns the offset of the UDP header if the untagged Ethernet frame is exactly one whole datagram: IPv4 without
/// options or fragments, or IPv6 without extension headers, and nothing behind it.
#[inline]
fn datagram(frame: &[u8]) -> Option<usize> {
    let (udp, whole) = match *frame.get(12..15)? {
        [8, 0, 0x45] if frame.len() >= 42 => {
            (34, word(frame, 20) & 0x3fff == 0 && frame[23] == UDP && usize::from(word(frame, 16)) == frame.len() - 14)
        }
        [0x86, 0xdd, _] if frame.len() >= 62 => {
            (54, frame[20] == UDP && usize::from(word(frame, 18)) == frame.len() - 54)
        }
        _ => return None,
    };
    (whole && usize::from(word(frame, udp + 4)) == frame.len() - udp).then_some(udp)
}

/// Returns whether the headers of two datagrams differ only in lengths, checksums and identification.
#[inline]
fn is_same_flow(a: &[u8], b: &[u8], udp: usize) -> bool {
    let alike = |from: usize, to: usize| a[from..to] == b[from..to];
    match udp {
        34 => alike(0, 16) && alike(20, 24) && alike(26, 38),
        _ => alike(0, 18) && alike(20, 58),
    }
}

/// Returns whether the checksums are those that the kernel will write when it segments. With `fill`, a missing UDP
/// checksum over IPv4 is accepted.
fn is_sound(frame: &[u8], udp: usize, fill: bool) -> bool {
    let ipv4 = udp == 34;
    if ipv4 && checksum::ones_sum(&frame[ETHERNET..udp]) != 0xffff {
        return false;
    }
    if word(frame, udp + 6) == 0 { ipv4 && fill } else { checksum::is_right(frame) }
}

/// Returns how many packets, from the first on, can be sent as one frame; 1 if the first must be sent alone. Their
/// frames are at most `longest` bytes long. With `fill`, datagrams over IPv4 without a UDP checksum may be sent with
/// one.
pub(crate) fn alike(packets: &[Packet], longest: usize, fill: bool) -> usize {
    let [first, second, ..] = packets else { return packets.len() };
    let (first, second) = (first.bytes(), second.bytes());
    let Some(udp) = datagram(first) else { return 1 };
    let payload = first.len() - udp - UDP_HEADER;
    // Checksums are tested last, because mostly the second packet is of another flow.
    if payload == 0
        || first.len() > longest
        || datagram(second) != Some(udp)
        || !is_same_flow(first, second, udp)
        || !is_sound(first, udp, fill)
    {
        return 1;
    }
    let most = ((LONGEST - udp - UDP_HEADER) / payload).min(MOST);
    let numbered = udp == 34 && word(first, 20) & DONT_FRAGMENT == 0;
    let mut count = 1;
    for packet in packets[1..].iter().take(most.saturating_sub(1)) {
        let frame = packet.bytes();
        let fits = frame.len() <= first.len()
            && datagram(frame) == Some(udp)
            && frame.len() > udp + UDP_HEADER
            && is_same_flow(first, frame, udp)
            && (!numbered || word(frame, 18) == word(first, 18).wrapping_add(count as u16))
            && is_sound(frame, udp, fill);
        if !fits {
            break;
        }
        count += 1;
        // Only the last datagram may be shorter.
        if frame.len() < first.len() {
            break;
        }
    }
    count
}

/// Writes packets that [`alike`] accepted as one frame, preceded by its `virtio_net_hdr`. Returns the length of both.
pub(crate) fn join(packets: &[Packet], into: &mut [u8; OFFLOADS + LONGEST]) -> usize {
    let Some((udp, first)) = packets.first().and_then(|p| Some((datagram(p.bytes())?, p.bytes()))) else { return 0 };
    let header = udp + UDP_HEADER;
    let (offloads, frame) = into.split_at_mut(OFFLOADS);
    frame[..header].copy_from_slice(&first[..header]);
    let mut end = header;
    for packet in packets {
        let payload = &packet.bytes()[header..];
        frame[end..end + payload.len()].copy_from_slice(payload);
        end += payload.len();
    }
    let frame = &mut frame[..end];
    set_lengths(frame, udp);
    let pseudo = checksum::pseudo_sum(frame).unwrap_or_default();
    set_word(frame, udp + 6, pseudo);

    // struct virtio_net_hdr: flags, gso_type, hdr_len, gso_size, csum_start, csum_offset, in the host's byte order.
    offloads[..2].copy_from_slice(&[NEEDS_CHECKSUM, UDP_SEGMENTS]);
    for (i, value) in [header, first.len() - header, udp, 6].into_iter().enumerate() {
        offloads[2 + 2 * i..4 + 2 * i].copy_from_slice(&(value as u16).to_ne_bytes());
    }
    OFFLOADS + end
}

/// Writes the length fields of a datagram that fills its frame, and IPv4's header checksum.
fn set_lengths(frame: &mut [u8], udp: usize) {
    let length = frame.len();
    set_word(frame, udp + 4, (length - udp) as u16);
    if udp == 34 {
        set_word(frame, 16, (length - ETHERNET) as u16);
        set_word(frame, 24, 0);
        let checksum = !checksum::ones_sum(&frame[ETHERNET..udp]);
        set_word(frame, 24, checksum);
    } else {
        set_word(frame, 18, (length - udp) as u16);
    }
}

/// Returns the payload bytes of each datagram in a frame with this `virtio_net_hdr`; 0 if it is not a joined frame.
pub(crate) fn segment_size(offloads: [u8; OFFLOADS]) -> u16 {
    if offloads[1] & !ECN == UDP_SEGMENTS { u16::from_ne_bytes([offloads[4], offloads[5]]) } else { 0 }
}

/// One datagram of a joined frame.
#[derive(Debug)]
pub(crate) struct Segment<'a> {
    /// The headers of the joined frame.
    pub header: &'a [u8],
    pub payload: &'a [u8],
    /// False for the last datagram.
    pub more: bool,
}

/// Returns datagram `number` (from 0) of a joined frame whose datagrams have `size` bytes of payload. Returns `None` if
/// the frame is malformed or has no such datagram.
#[inline]
pub(crate) fn segment(frame: &[u8], size: usize, number: usize) -> Option<Segment<'_>> {
    let (header, payload) = frame.split_at_checked(datagram(frame)? + UDP_HEADER)?;
    let rest = payload.get(size.checked_mul(number)?..)?;
    let payload = &rest[..size.min(rest.len())];
    (!payload.is_empty()).then_some(Segment { header, payload, more: rest.len() > size })
}

/// Turns the headers of a joined frame into those of datagram `number`.
pub(crate) fn finish(frame: &mut [u8], number: usize) {
    let udp = match frame.get(12) {
        Some(8) if frame.len() >= 42 => 34,
        Some(_) if frame.len() >= 62 => 54,
        _ => return,
    };
    if udp == 34 {
        set_word(frame, 18, word(frame, 18).wrapping_add(number as u16));
    }
    set_lengths(frame, udp);
    checksum::complete(frame);
}

#[cfg(test)]
mod tests {
    use hopwright_dataplane::{FrameSize, Pool};

    use super::*;

    /// Builds a datagram with a correct checksum, or with none.
    fn frame(v6: bool, id: u16, flags: u16, payload: &[u8], checksummed: bool) -> Vec<u8> {
        let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a];
        if v6 {
            f.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 17, 64]);
            f.extend((0..32).collect::<Vec<u8>>());
        } else {
            f.extend([8, 0, 0x45, 0, 0, 0]);
            f.extend(id.to_be_bytes());
            f.extend(flags.to_be_bytes());
            f.extend([64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2]);
        }
        let udp = f.len();
        f.extend([0x75, 0x30, 0x75, 0x31, 0, 0, 0, 0]);
        f.extend(payload);
        set_lengths(&mut f, udp);
        if checksummed {
            assert!(checksum::complete(&mut f));
        }
        f
    }

    struct Frames {
        pool: Pool,
        packets: Vec<Packet>,
    }

    impl Frames {
        fn new(frames: &[Vec<u8>]) -> Frames {
            let mut pool = Pool::new(frames.len().max(1) as u32, FrameSize { headroom: 0, data: 1600 }).unwrap();
            let packets = frames.iter().map(|f| pool.take_filled(f).unwrap()).collect();
            Frames { pool, packets }
        }

        fn alike(&self, fill: bool) -> usize {
            alike(&self.packets, 1514, fill)
        }
    }

    impl Drop for Frames {
        fn drop(&mut self) {
            self.packets.drain(..).for_each(|packet| self.pool.give(packet));
        }
    }

    /// Joins frames and segments the result again.
    fn there_and_back(frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let all = Frames::new(frames);
        assert_eq!(all.alike(false), frames.len());
        let mut buffer = Box::new([0; OFFLOADS + LONGEST]);
        let length = join(&all.packets, &mut buffer);
        let offloads = *buffer.first_chunk().unwrap();
        let (size, whole) = (usize::from(segment_size(offloads)), &buffer[OFFLOADS..length]);
        let mut apart = Vec::new();
        loop {
            let number = apart.len();
            let found = segment(whole, size, number).unwrap();
            let mut one = [found.header, found.payload].concat();
            finish(&mut one, number);
            apart.push(one);
            if !found.more {
                assert!(segment(whole, size, number + 1).is_none());
                return apart;
            }
        }
    }

    #[test]
    fn what_is_joined_comes_apart_as_it_was() {
        let payload = |i: usize, len: usize| (0..len).map(|j| (i * 7 + j) as u8).collect::<Vec<u8>>();
        for v6 in [false, true] {
            for last in [1, 77, 130] {
                let lengths = [130, 130, 130, last];
                let numbered: Vec<_> = (0..4)
                    .map(|i| frame(v6, 0xfffe_u16.wrapping_add(i as u16), 0, &payload(i, lengths[i]), true))
                    .collect();
                assert_eq!(there_and_back(&numbered), numbered);
            }
        }
    }

    #[test]
    fn only_what_the_kernel_would_make_again_is_joined() {
        let plain = |id| frame(false, id, 0, b"some payload", true);
        let whole = |id| frame(false, id, DONT_FRAGMENT, b"some payload", true);
        let count = |frames: &[Vec<u8>]| Frames::new(frames).alike(false);
        assert_eq!(count(&[plain(1), plain(2), plain(3)]), 3);
        assert_eq!(count(&[plain(1), plain(2), plain(2)]), 2);
        assert_eq!(count(&[plain(1), plain(1)]), 1);
        assert_eq!(count(&[whole(1), whole(1), whole(0)]), 3);
        assert_eq!(count(&[whole(1)]), 1);
        assert_eq!(count(&[]), 0);
        // A longer one after them, and anything after a shorter one.
        let (short, long) =
            (frame(false, 1, DONT_FRAGMENT, b"some", true), frame(false, 1, DONT_FRAGMENT, b"some more payload", true));
        assert_eq!(count(&[whole(1), long, whole(1)]), 1);
        assert_eq!(count(&[whole(1), short.clone(), short]), 2);
        let empty = frame(false, 1, DONT_FRAGMENT, b"", true);
        assert_eq!(count(&[whole(1), empty.clone()]), 1);
        assert_eq!(count(&[empty.clone(), empty]), 1);
        // Every header bit that segmentation does not restore matters, and so does each checksum.
        for v6 in [false, true] {
            let good = frame(v6, 1, DONT_FRAGMENT, b"some payload", true);
            let udp = datagram(&good).unwrap();
            for bit in 0..(udp + 8 + 12) * 8 {
                let mut other = good.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(count(&[good.clone(), other.clone()]), 1, "{v6} {bit}");
                assert_eq!(count(&[other, good.clone()]), 1, "{v6} {bit}");
            }
        }
    }

    #[test]
    fn checksums_are_added_only_if_they_may() {
        let (with, without) =
            (frame(false, 1, DONT_FRAGMENT, b"abc", true), frame(false, 1, DONT_FRAGMENT, b"abc", false));
        for frames in [[&with, &without], [&without, &with], [&without, &without]] {
            let frames = Frames::new(&frames.map(Clone::clone));
            assert_eq!((frames.alike(false), frames.alike(true)), (1, 2));
        }
        // IPv6 requires a checksum: receivers drop datagrams without one, and must be able to.
        let without = frame(true, 1, 0, b"abc", false);
        assert_eq!(Frames::new(&[without.clone(), without]).alike(true), 1);
    }

    #[test]
    fn there_are_limits() {
        let many: Vec<_> = (0..100).map(|i| frame(false, i, 0, &[7; 100], true)).collect();
        assert_eq!(Frames::new(&many).alike(false), MOST);
        let long: Vec<_> = (0..100).map(|i| frame(false, i, 0, &[7; 1472], true)).collect();
        let count = Frames::new(&long).alike(false);
        assert_eq!(count, (LONGEST - 42) / 1472);
        assert_eq!(there_and_back(&long[..count]), long[..count]);
        let too_long: Vec<_> = (0..3).map(|i| frame(false, i, 0, &[7; 1473], true)).collect();
        assert_eq!(Frames::new(&too_long).alike(false), 1);
    }

    #[test]
    fn no_frame_is_too_strange() {
        let good = frame(false, 1, 0, b"some payload", true);
        for cut in 0..=good.len() {
            let whole = cut == good.len();
            assert_eq!(segment(&good[..cut], 5, 0).is_some(), whole);
            assert!(segment(&good[..cut], 0, 0).is_none());
            assert!(segment(&good[..cut], usize::MAX, 2).is_none());
            finish(&mut good[..cut].to_vec(), 1);
            let pair = [good[..cut].to_vec(), good[..cut].to_vec()];
            assert_eq!(Frames::new(&pair).alike(true), 1);
        }
    }

    #[test]
    fn whatever_is_joined_comes_apart_as_it_was() {
        let mut state = 88172645463325252u64;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        let mut joined = 0;
        for _ in 0..20_000 {
            // Frames of a flow in which some bytes and lengths differ. Many get correct checksums again.
            let (v6, flags) = (random(4) == 0, [0, DONT_FRAGMENT, 0x8000][random(3)]);
            let (id, length) = (random(1 << 16) as u16, 1 + random(40));
            let frames: Vec<Vec<u8>> = (0..2 + random(3))
                .map(|i| {
                    let length = if random(4) == 0 { random(60) } else { length };
                    let payload: Vec<u8> = (0..length).map(|_| random(256) as u8).collect();
                    let mut f = frame(v6, id.wrapping_add(i as u16), flags, &payload, random(8) > 0);
                    for _ in 0..random(3) * random(2) {
                        let at = random(f.len());
                        f[at] ^= 1 << random(8);
                    }
                    if random(2) == 0
                        && let Some(udp) = datagram(&f)
                    {
                        set_lengths(&mut f, udp);
                        checksum::complete(&mut f);
                    }
                    f.truncate(f.len() - random(2) * random(2) * random(f.len()));
                    f
                })
                .collect();
            let count = Frames::new(&frames).alike(false);
            if count > 1 {
                joined += 1;
                let plain = |frame: &Vec<u8>| {
                    let mut frame = frame.clone();
                    if !v6 && word(&frame, 20) & DONT_FRAGMENT != 0 {
                        frame[18..20].fill(0);
                        frame[24..26].fill(0);
                    }
                    frame
                };
                let apart = there_and_back(&frames[..count]);
                assert!(apart.iter().map(plain).eq(frames[..count].iter().map(plain)), "{frames:x?} {apart:x?}");
            }
            // A frame may claim to be a joined one.
            let size = [0, 1, length, 65535][random(4)];
            let whole = &frames[0];
            let mut left = whole.len();
            for number in 0.. {
                let Some(next) = segment(whole, size, number) else { break };
                left = left.checked_sub(next.payload.len()).unwrap();
                finish(&mut [next.header, next.payload].concat(), number);
                if !next.more {
                    break;
                }
            }
        }
        assert!(joined > 2000, "{joined}");
    }
}
