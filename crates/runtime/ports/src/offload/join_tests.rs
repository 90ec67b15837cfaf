//! Joining and splitting, each of which undoes the other.

use hopwright_dataplane::{FrameSize, Pool};
use proptest::prelude::*;

use super::*;
use crate::offload::checksum;
use crate::offload::split::Split;

/// What a segment is built of.
#[derive(Clone, Debug)]
struct Packed {
    tag: bool,
    v6: bool,
    tcp: bool,
    id: u16,
    flags: u16,
    sequence: u32,
    tcp_flags: u8,
    options: usize,
    payload: Vec<u8>,
    checksummed: bool,
}

const UDP4: Packed = Packed {
    tag: false,
    v6: false,
    tcp: false,
    id: 1,
    flags: DONT_FRAGMENT,
    sequence: 0xffff_fff0,
    tcp_flags: ACK,
    options: 0,
    payload: Vec::new(),
    checksummed: true,
};
const TCP4: Packed = Packed {
    tag: false,
    v6: false,
    tcp: true,
    id: 1,
    flags: DONT_FRAGMENT,
    sequence: 0xffff_fff0,
    tcp_flags: ACK,
    options: 12,
    payload: Vec::new(),
    checksummed: true,
};

impl Packed {
    fn with(&self, payload: &[u8]) -> Packed {
        Packed { payload: payload.into(), ..self.clone() }
    }

    /// Builds the segment, with a correct checksum or with none.
    fn frame(&self) -> Vec<u8> {
        let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a];
        if self.tag {
            f.extend([0x81, 0, 0x20, 5]);
        }
        let protocol = if self.tcp { TCP } else { UDP };
        if self.v6 {
            f.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol, 64]);
            f.extend((0..32).collect::<Vec<u8>>());
        } else {
            f.extend([8, 0, 0x45, 0, 0, 0]);
            f.extend(self.id.to_be_bytes());
            f.extend(self.flags.to_be_bytes());
            f.extend([64, protocol, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2]);
        }
        f.extend([0x75, 0x30, 0x75, 0x31]);
        if self.tcp {
            f.extend(self.sequence.to_be_bytes());
            f.extend([0, 0, 9, 9, (20 + self.options as u8) << 2, self.tcp_flags, 1, 0xf5, 0, 0, 0, 0]);
            f.extend((0..self.options).map(|i| if i == 0 { 8 } else { i as u8 }));
        } else {
            f.extend([0, 0, 0, 0]);
        }
        f.extend(&self.payload);
        repair(&mut f, self.checksummed);
        f
    }
}

/// Writes the lengths and checksums of a segment that fills its frame.
fn repair(f: &mut [u8], checksummed: bool) {
    let ip = if f[12..14] == [0x81, 0] { 18 } else { 14 };
    let (length, v6) = (f.len() - ip, f[ip - 2] == 0x86);
    let at = if v6 { ip + 40 } else { ip + 20 };
    if v6 {
        set_word(f, ip + 4, (length - 40) as u16);
    } else {
        set_word(f, ip + 2, length as u16);
        set_word(f, ip + 10, 0);
        let checksum = !ones_sum(&f[ip..at]);
        set_word(f, ip + 10, checksum);
    }
    if f[if v6 { ip + 6 } else { ip + 9 }] == UDP {
        let length = (f.len() - at) as u16;
        set_word(f, at + 4, length);
    }
    if checksummed {
        checksum::complete(f);
    }
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

    fn joinable(&self, fill: bool) -> usize {
        joinable(&self.packets, 1514, Segments::ALL, fill)
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.packets.drain(..).for_each(|packet| self.pool.give(packet));
    }
}

/// How many frames, from the first on, are joined.
fn count(frames: &[Vec<u8>]) -> usize {
    Frames::new(frames).joinable(false)
}

/// Joins frames and cuts the result again.
fn there_and_back(frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let all = Frames::new(frames);
    assert_eq!(all.joinable(false), frames.len());
    let head = Head::of(&all.packets).unwrap();
    let (offloads, headers) = head.bytes().split_first_chunk().unwrap();
    let offloads = Offloads::read(*offloads).unwrap();
    assert_eq!(usize::from(offloads.header), headers.len());
    let mut whole = headers.to_vec();
    frames.iter().for_each(|frame| whole.extend(&frame[head.payload..]));
    assert!(whole.len() <= LONGEST);
    cut(&whole, &offloads)
}

fn cut(whole: &[u8], offloads: &Offloads) -> Vec<Vec<u8>> {
    let split = Split::of(whole, offloads).unwrap();
    let mut apart = Vec::new();
    loop {
        let number = apart.len();
        let found = split.segment(whole, number).unwrap();
        let mut one = [found.header, found.payload].concat();
        split.finish(&mut one, number, found.more);
        apart.push(one);
        if !found.more {
            assert!(split.segment(whole, number + 1).is_none());
            return apart;
        }
    }
}

/// Without the identification of a packet that must not be fragmented, and IPv4's checksum.
fn essence(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let ip = if frame[12..14] == [0x81, 0] { 18 } else { 14 };
    if frame[ip - 2] == 8 && word(&frame, ip + 6) & DONT_FRAGMENT != 0 {
        frame[ip + 4..ip + 6].fill(0);
        frame[ip + 10..ip + 12].fill(0);
    }
    frame
}

fn bytes(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| (seed * 7 + i) as u8).collect()
}

/// Segments of one flow with payloads of these lengths, as a sender makes them one after the other.
fn stream(first: &Packed, lengths: &[usize], last_flags: u8) -> Vec<Vec<u8>> {
    let (mut next, mut frames) = (first.clone(), Vec::new());
    for (i, length) in lengths.iter().enumerate() {
        next.payload = bytes(i, *length);
        if i > 0 {
            next.tcp_flags = first.tcp_flags & !CWR;
        }
        if i + 1 == lengths.len() {
            next.tcp_flags |= last_flags;
        }
        frames.push(next.frame());
        next.sequence = next.sequence.wrapping_add(*length as u32);
        next.id = next.id.wrapping_add(1);
    }
    frames
}

#[test]
fn what_is_joined_comes_apart_as_it_was() {
    for tcp in [false, true] {
        for (tag, v6) in [(false, false), (false, true), (true, false), (true, true)] {
            for last in [1, 77, 130] {
                for (first_flags, last_flags) in [(ACK, 0), (ACK, PSH), (ACK | CWR, FIN | PSH), (ACK | 0x40, 0)] {
                    let kind = Packed { tcp, tag, v6, id: 0xfffe, flags: 0, tcp_flags: first_flags, ..TCP4 };
                    let frames = stream(&kind, &[130, 130, 130, last], last_flags);
                    assert_eq!(there_and_back(&frames), frames);
                }
            }
        }
    }
}

#[test]
fn only_what_the_kernel_would_make_again_is_joined() {
    let plain = |id| Packed { id, flags: 0, ..UDP4 }.with(b"some payload").frame();
    let whole = |id| Packed { id, ..UDP4 }.with(b"some payload").frame();
    assert_eq!(count(&[plain(1), plain(2), plain(3)]), 3);
    assert_eq!(count(&[plain(1), plain(2), plain(2)]), 2);
    assert_eq!(count(&[plain(1), plain(1)]), 1);
    assert_eq!(count(&[whole(1), whole(1), whole(0)]), 3);
    assert_eq!(count(&[whole(1)]), 1);
    assert_eq!(count(&[]), 0);
    // A longer one after them, and anything after a shorter one.
    let (short, long) = (UDP4.with(b"some").frame(), UDP4.with(b"some more payload").frame());
    assert_eq!(count(&[whole(1), long, whole(1)]), 1);
    assert_eq!(count(&[whole(1), short.clone(), short]), 2);
    let empty = UDP4.frame();
    assert_eq!(count(&[whole(1), empty.clone()]), 1);
    assert_eq!(count(&[empty.clone(), empty]), 1);
    // Every header bit that segmentation does not restore matters, and so does each checksum.
    for v6 in [false, true] {
        let good = Packed { v6, ..UDP4 }.with(b"some payload").frame();
        let payload = Shape::of(&good).unwrap().payload;
        for bit in 0..(payload + 12) * 8 {
            let mut other = good.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(count(&[good.clone(), other.clone()]), 1, "{v6} {bit}");
            assert_eq!(count(&[other, good.clone()]), 1, "{v6} {bit}");
        }
    }
}

#[test]
fn only_consecutive_tcp_segments_are_joined() {
    for v6 in [false, true] {
        let kind = Packed { v6, ..TCP4 };
        let frames = stream(&kind, &[100; 5], 0);
        assert_eq!(count(&frames), 5);
        let but = |at: usize, frame: Packed| {
            let mut frames = frames.clone();
            frames[at] = frame.frame();
            count(&frames)
        };
        let at = |i: usize, flags: u8| {
            let sequence = kind.sequence.wrapping_add(100 * i as u32);
            Packed { sequence, tcp_flags: flags, ..kind.with(&bytes(i, 100)) }
        };
        assert_eq!(but(2, at(2, ACK)), 5);
        // A gap, a repetition, and flags that the kernel would not write.
        assert_eq!((but(2, at(3, ACK)), but(2, at(1, ACK))), (2, 2));
        for flag in [0x02, 0x04, 0x20, 0x40, CWR] {
            assert_eq!((but(2, at(2, ACK | flag)), but(4, at(4, ACK | flag))), (2, 4), "{flag}");
        }
        assert_eq!((but(2, at(2, ACK | PSH)), but(2, at(2, ACK | FIN)), but(2, at(2, 0))), (3, 3, 2));
        assert_eq!((but(0, at(0, ACK | CWR)), but(0, at(0, ACK | PSH)), but(0, at(0, 0x12))), (5, 1, 1));
        assert_eq!(but(2, Packed { options: 0, ..at(2, ACK) }), 2);
        // Every bit matters but those of the flags that were tested above.
        let good = &frames[..2];
        let shape = Shape::of(&good[0]).unwrap();
        for bit in 0..(shape.payload + 12) * 8 {
            for which in 0..2 {
                let mut pair = good.to_vec();
                pair[which][bit / 8] ^= 1 << (bit % 8);
                assert_eq!(count(&pair), 1, "{v6} {which} {bit}");
                if bit / 8 < shape.payload {
                    repair(&mut pair[which], true);
                    let joined = count(&pair) == 2;
                    assert!(
                        !joined || there_and_back(&pair).iter().map(|f| essence(f)).eq(pair.iter().map(|f| essence(f)))
                    );
                }
            }
        }
    }
}

#[test]
fn a_device_gets_the_kinds_that_it_takes() {
    let joined = |kind: &Packed, takes: u8| {
        let all = Frames::new(&stream(kind, &[100; 3], 0));
        joinable(&all.packets, 1514, Segments::from_bits(takes), false) == 3
    };
    let v6 = Packed { v6: true, ..TCP4 };
    let ecn = Packed { tcp_flags: ACK | CWR, ..TCP4 };
    for takes in 0..16 {
        assert_eq!(joined(&UDP4, takes), takes & 1 != 0);
        assert_eq!(joined(&TCP4, takes), takes & 2 != 0);
        assert_eq!(joined(&v6, takes), takes & 4 != 0);
        assert_eq!(joined(&ecn, takes), takes & 10 == 10);
    }
}

#[test]
fn checksums_are_added_only_if_they_may() {
    let without = Packed { checksummed: false, ..UDP4 }.with(b"abc").frame();
    let with = UDP4.with(b"abc").frame();
    for frames in [[&with, &without], [&without, &with], [&without, &without]] {
        let frames = Frames::new(&frames.map(Clone::clone));
        assert_eq!((frames.joinable(false), frames.joinable(true)), (1, 2));
    }
    // IPv6 requires a checksum: receivers drop datagrams without one, and must be able to.
    let without = Packed { v6: true, checksummed: false, ..UDP4 }.with(b"abc").frame();
    assert_eq!(Frames::new(&[without.clone(), without]).joinable(true), 1);
}

#[test]
fn there_are_limits() {
    let long = stream(&UDP4, &[100; 100], 0);
    assert_eq!(count(&long), MOST_DATAGRAMS);
    let (udp, tcp) = (stream(&UDP4, &[1472; 100], 0), stream(&TCP4, &[1448; 100], 0));
    assert_eq!((count(&udp), count(&tcp)), ((LONGEST - 42) / 1472, 45));
    assert!(there_and_back(&tcp[..45]).iter().map(|f| essence(f)).eq(tcp[..45].iter().map(|f| essence(f))));
    assert_eq!(count(&stream(&TCP4, &[10; 300], 0)), MOST);
    assert_eq!(count(&stream(&UDP4, &[1473; 3], 0)), 1);
    let tagged = Packed { tag: true, ..UDP4 };
    assert_eq!((count(&stream(&tagged, &[1472; 3], 0)), count(&stream(&tagged, &[1473; 3], 0))), (3, 1));
}

/// The headers of a tunnel.
#[derive(Clone, Copy, Debug)]
enum Tunnel {
    IpInIp,
    /// With checksum and key.
    Gre,
    /// Ethernet behind eight bytes of options, with a UDP checksum or without.
    Geneve(bool),
}

/// Puts an untagged frame into a tunnel, as RFC 2003, RFC 2784 and RFC 8926 say.
fn into_tunnel(tunnel: Tunnel, frame: &[u8], v6: bool, id: u16) -> Vec<u8> {
    let inner_v6 = frame[12] == 0x86;
    let (protocol, mut inside) = match tunnel {
        Tunnel::IpInIp => (if inner_v6 { 41 } else { 4 }, frame[14..].to_vec()),
        Tunnel::Gre => {
            let mut gre = vec![0xa0, 0, frame[12], frame[13], 0, 0, 0, 0, 0, 0, 0, 7];
            gre.extend(&frame[14..]);
            let checksum = !ones_sum(&gre);
            set_word(&mut gre, 4, checksum);
            (47, gre)
        }
        Tunnel::Geneve(_) => {
            let length = (8 + 8 + 8 + frame.len()) as u16;
            let mut udp = vec![0xc0, 1, 0x17, 0xc1];
            udp.extend(length.to_be_bytes());
            udp.extend([0, 0, 2, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 1, 9, 9, 9, 9]);
            udp.extend(frame);
            (UDP, udp)
        }
    };
    let mut whole = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    if v6 {
        whole.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        whole.extend((inside.len() as u16).to_be_bytes());
        whole.extend([protocol, 9]);
        whole.extend((100..132).collect::<Vec<u8>>());
    } else {
        whole.extend([8, 0, 0x45, 0]);
        whole.extend((20 + inside.len() as u16).to_be_bytes());
        whole.extend(id.to_be_bytes());
        whole.extend([0, 0, 9, protocol, 0, 0, 203, 0, 113, 1, 203, 0, 113, 2]);
        let checksum = !ones_sum(&whole[14..34]);
        set_word(&mut whole, 24, checksum);
    }
    if matches!(tunnel, Tunnel::Geneve(true)) {
        let mut pseudo = whole[if v6 { 22 } else { 26 }..].to_vec();
        pseudo.extend([0, UDP]);
        pseudo.extend((inside.len() as u16).to_be_bytes());
        pseudo.extend(&inside);
        let checksum = match !ones_sum(&pseudo) {
            0 => 0xffff,
            checksum => checksum,
        };
        set_word(&mut inside, 6, checksum);
    }
    whole.extend(inside);
    whole
}

/// What comes out of a joined frame in a tunnel is what comes out of the frame, each in the tunnel.
#[test]
fn tunnels_carry_segments() {
    for tunnel in [Tunnel::IpInIp, Tunnel::Gre, Tunnel::Geneve(false), Tunnel::Geneve(true)] {
        for (v6, inner_v6, tcp) in (0..8).map(|i| (i & 1 != 0, i & 2 != 0, i & 4 != 0)) {
            let kind = Packed { v6: inner_v6, tcp, flags: 0, ..TCP4 };
            let segments = stream(&kind, &[100, 100, 100, 33], PSH);
            let all = Frames::new(&segments);
            let head = Head::of(&all.packets).unwrap();
            let (header, joined) = head.bytes().split_first_chunk().unwrap();
            let mut joined = joined.to_vec();
            segments.iter().for_each(|segment| joined.extend(&segment[head.payload..]));
            let outer = into_tunnel(tunnel, &joined, v6, 0xffff);
            let offloads = Offloads::read(*header).unwrap();
            let moved = (outer.len() - joined.len()) as u16;
            let checksum = offloads.checksum.map(|(start, offset)| (start + moved, offset));
            let numbered = segments.iter().zip(0u16..);
            let wanted: Vec<_> =
                numbered.map(|(segment, i)| into_tunnel(tunnel, segment, v6, 0xffff_u16.wrapping_add(i))).collect();
            // A device that has joined what it received may say nothing of checksums.
            for checksum in [checksum, None] {
                let apart = cut(&outer, &Offloads { checksum, ..offloads });
                assert!(apart == wanted, "{tunnel:?} {v6} {inner_v6} {tcp} {checksum:?}");
            }
            // AF_XDP does not tell which checksums are partial: it is seen by what the field contains.
            for (segment, wanted) in segments.iter().zip(wanted) {
                let mut frame = wanted.clone();
                assert!(!checksum::mend(&mut frame) && frame == wanted);
                let shape = Shape::of(segment).unwrap();
                let field = frame.len() - segment.len() + shape.transport + if tcp { 16 } else { 6 };
                set_word(&mut frame, field, checksum::pseudo_sum(segment).unwrap());
                assert!(checksum::mend(&mut frame) && frame == wanted, "{tunnel:?} {v6} {inner_v6} {tcp}");
            }
        }
    }
}

fn packed() -> impl Strategy<Value = Packed> {
    let headers = (any::<bool>(), any::<bool>(), any::<bool>(), any::<u16>(), 0u16..3, any::<u32>());
    (headers, 0usize..6, any::<bool>(), 0u8..4).prop_map(|((tag, v6, tcp, id, flags, sequence), options, psh, ecn)| {
        Packed {
            tag,
            v6,
            tcp,
            id,
            flags: [0, DONT_FRAGMENT, 0x8000][usize::from(flags)],
            sequence,
            tcp_flags: ACK | if psh { PSH } else { 0 } | ecn << 6,
            options: 4 * options,
            payload: Vec::new(),
            checksummed: true,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Frames of a flow in which some lengths and bytes differ.
    #[test]
    fn whatever_is_joined_comes_apart_as_it_was_before(
        first in packed(),
        lengths in prop::collection::vec(prop_oneof![4 => Just(37usize), 1 => 0usize..60], 2..6),
        last_flags in prop_oneof![Just(0), Just(PSH), Just(FIN | PSH)],
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..8, any::<bool>()), 0..3),
    ) {
        let mut frames = stream(&first, &lengths, last_flags);
        for (which, at, bit, repaired) in flips {
            let which = which.index(frames.len());
            let frame = &mut frames[which];
            let at = at.index(frame.len());
            frame[at] ^= 1 << bit;
            if repaired && Shape::of(frame).is_some() {
                repair(frame, true);
            }
        }
        let joined = count(&frames);
        if joined > 1 {
            let apart = there_and_back(&frames[..joined]);
            prop_assert!(apart.iter().map(|f| essence(f)).eq(frames[..joined].iter().map(|f| essence(f))));
        }
    }

    /// Frames may claim to be joined ones.
    #[test]
    fn no_frame_is_too_strange(
        first in packed(),
        length in 0usize..200,
        cut_at in any::<prop::sample::Index>(),
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        kind in prop_oneof![Just(Kind::Tcp4), Just(Kind::Tcp6), Just(Kind::Udp), Just(Kind::Unknown)],
        size in prop_oneof![0u16..100, any::<u16>()],
        checksum in prop::option::of((prop_oneof![0u16..100, any::<u16>()], any::<u16>())),
    ) {
        let mut frame = first.with(&bytes(3, length)).frame();
        for (at, value) in noise {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        frame.truncate(cut_at.index(frame.len() + 1));
        count(&[frame.clone(), frame.clone()]);
        let offloads = Offloads { kind, ecn: false, header: 0, size, checksum };
        if let Some((start, offset)) = checksum {
            checksum::complete_at(&mut frame.clone(), start.into(), offset.into());
        }
        checksum::mend(&mut frame.clone());
        if let Some(split) = Split::of(&frame, &offloads) {
            let header = split.segment(&frame, 0).unwrap().header.len();
            let apart = cut(&frame, &offloads);
            prop_assert!(apart.iter().flat_map(|segment| &segment[header..]).eq(&frame[header..]));
        }
    }
}
