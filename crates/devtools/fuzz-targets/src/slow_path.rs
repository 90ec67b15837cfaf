//! Punted bytes, and the SCION agent's answers to them.

use std::time::Instant;

use hopwright_scion::config::links::Links;
use hopwright_scion::control::program::{PacketIn, Reason};
use hopwright_scion::packet::{checksum_fault, internet_checksum};
use hopwright_scion::scmp::{Counts, Kind, Outcome, Router, ScmpKeys, Settings, SlowPath, answer};
use hopwright_scion::synthetic::{self, INTERNAL_PORT};

use crate::packets::{IPV6_INSIDE, NOW_S};
use crate::repair;

/// Flag in an input's first byte: the router authenticates its answers.
pub const AUTHENTICATE: u8 = 0x40;
/// Flag in an input's first byte: the failed check concerned the hop after the segment change.
pub(crate) const AT_NEXT_HOP: u8 = 0x10;

/// Flag in an input's first byte: leave the UDP checksum unrepaired.
pub(crate) const SAME_CHECKSUM: u8 = 0x08;

/// Interfaces that packets come in and go out by: inside, the synthetic router's, its siblings', and none.
pub(crate) const INTERFACES: [u16; 12] = [0, 1, 2, 3, 4, 5, 6, synthetic::DOWN, 11, 12, 22, 77];

/// Bytes in front of the frame in an input: flags, reason, interfaces in and out.
const HEAD: usize = 4;

/// Encodes a punted frame as an input. `None` if an input cannot express the interfaces.
pub fn encode_punted(flags: u8, header: &PacketIn, frame: &[u8]) -> Option<Vec<u8>> {
    let place = |interface| INTERFACES.iter().position(|i| *i == interface);
    let at_next_hop = if header.at_next_hop { AT_NEXT_HOP } else { 0 };
    let head = [flags | at_next_hop, header.reason, place(header.ingress)? as u8, place(header.egress)? as u8];
    Some([&head, frame].concat())
}

/// Any bytes are a punted frame in the form of [`encode_punted`]: an answer is a well-formed packet, and the fate of the frame
/// is counted once. Returns the fate.
pub fn slow_path(data: &[u8]) -> Option<Outcome> {
    let (head, frame) = data.split_at_checked(HEAD)?;
    let ingress = INTERFACES[usize::from(head[2]) % INTERFACES.len()];
    let header = PacketIn {
        reason: head[1],
        at_next_hop: head[0] & AT_NEXT_HOP != 0,
        port: if ingress == 0 { INTERNAL_PORT } else { ingress },
        ingress,
        egress: INTERFACES[usize::from(head[3]) % INTERFACES.len()],
        next_hop: None,
    };
    let mut frame = frame.to_vec();
    repair::repair(&mut frame, head[0] & repair::LENGTHS, ingress != 0);
    if head[0] & SAME_CHECKSUM == 0 {
        repair::udp_checksum(&mut frame);
    }

    let links = synthetic::rich_links(head[0] & IPV6_INSIDE != 0);
    let authenticate = head[0] & AUTHENTICATE != 0;
    let now_us = u64::from(NOW_S) * 1_000_000;
    let mut slow_path = SlowPath::new(Settings { authenticate, ..Settings::default() });
    let outcome = slow_path.handle(&frame, &header, &links, (Instant::now(), now_us), |_, _| true);
    let keys = authenticate.then(ScmpKeys::zero);
    let router = Router { links: &links, keys: keys.as_ref(), secret_value: None };
    assert_eq!(outcome, answer(&frame, &header, &router, now_us), "an answer depends on the packet only");
    let counted = total(slow_path.counts());
    assert_eq!(counted, u64::from(Reason::from_number(header.reason).is_some_and(SlowPath::takes)));
    match &outcome {
        Outcome::Reply(kind, reply) => {
            check_reply(*kind, reply, &frame, &links);
            if kind.is_error() {
                let answered = matches!(answer(reply, &header, &router, now_us), Outcome::Reply(..));
                assert!(!answered, "two routers would answer each other for ever");
            }
        }
        Outcome::Bounce(packet) => {
            assert_eq!(checksum_fault(packet), None);
            assert!(header.reason == Reason::IngressAlert as u8 || header.reason == Reason::EgressAlert as u8);
        }
        Outcome::Stun(packet) => {
            assert_eq!(checksum_fault(packet), None);
            assert!(packet.len() <= frame.len() + 16, "an IPv6 address instead of a FINGERPRINT");
        }
        Outcome::Process { frame: again, l4_port } => {
            assert!(again.len() <= frame.len());
            assert_eq!(*l4_port != 0, header.reason == Reason::ScmpError as u8);
        }
        Outcome::Drop(_) => {}
    }
    Some(outcome)
}

fn total(counts: &Counts) -> u64 {
    let maps = [counts.sent.values().sum::<u64>(), counts.resumed.values().sum(), counts.silent.values().sum()];
    maps.iter().sum::<u64>() + counts.stun + counts.bounced + counts.limited.values().sum::<u64>() + counts.not_sent
}

/// Checks that a reply goes to the sender, with correct addresses, lengths and checksums.
fn check_reply(kind: Kind, reply: &[u8], frame: &[u8], links: &Links) {
    assert_eq!(checksum_fault(reply), None);
    assert_eq!((&reply[..6], &reply[6..12]), (&frame[6..12], &frame[..6]));
    let ip_header = |frame: &[u8]| if frame[12] == 8 { usize::from(frame[14] & 0xf) * 4 } else { 40 };
    let scion = &reply[14 + ip_header(reply) + 8..];
    let came = &frame[14 + ip_header(frame) + 8..];
    assert!(scion.len() <= if kind.is_error() { 1232 } else { 1020 + 32 + 24 }, "{}", scion.len());

    // Common header: traffic class and flow stay, addresses change places.
    assert_eq!((scion[0] >> 4, &scion[1..4], scion[8]), (0, &came[1..4], 1));
    assert_eq!((&scion[12..20], &scion[20..28]), (&came[20..28], &links.ia.0.to_be_bytes()[..]));
    let header = usize::from(scion[5]) * 4;
    assert_eq!(header + usize::from(u16::from_be_bytes([scion[6], scion[7]])), scion.len());
    let hosts = 4 * (usize::from(scion[9] >> 4 & 3) + 1) + 4 * (usize::from(scion[9] & 3) + 1);

    // The path can continue from its position, and fills the header.
    let meta = u32::from_be_bytes(scion[28 + hosts..32 + hosts].try_into().expect("four bytes"));
    let lengths = [12, 6, 0].map(|shift| (meta >> shift & 0x3f) as usize);
    let (segments, hops) = (lengths.iter().filter(|l| **l > 0).count(), lengths.iter().sum::<usize>());
    assert_eq!(28 + hosts + 4 + 8 * segments + 12 * hops, header);
    let (current, segment) = ((meta >> 24 & 0x3f) as usize, (meta >> 30) as usize);
    let start: usize = lengths[..segment].iter().sum();
    assert!((start..start + lengths[segment]).contains(&current));

    let extension = if scion[4] == 201 { 32 } else { 0 };
    let message = &scion[header + extension..];
    assert_eq!((message[0], message[1]), (kind.scmp_type, kind.code));
    // Message and pseudo header: AS numbers, hosts, length and protocol number.
    let pseudo = [&scion[12..28 + hosts], &(message.len() as u32).to_be_bytes(), &[0, 0, 0, 202], message].concat();
    assert_eq!(internet_checksum(&pseudo), 0, "SCMP checksum");
}
