//! Every bit of a packet that is flipped: what of it routers and destinations must accept, and what they must drop.

use std::ops::Range;

use crate::network::{HOSTS, Network, Outcome, host, ia};
use hopwright_dataplane::EngineKind;
use hopwright_epic::receiver::{Reason, Receiver, Settings};
use hopwright_epic::{Cipher, Level};

// Numbers of `Reason` in p4/epic/reasons.p4.
const VERSION: u8 = 14;
const PEERING: u8 = 15;

/// Places in a packet of two segments of three hops between IPv4 hosts, in bits.
struct Places {
    validation: Range<usize>,
    infos: usize,
    hops: usize,
}

const HOST: Range<usize> = 8 * 28..8 * 36;
const META: usize = 8 * 36;
const INFO_BITS: usize = 64;
const HOP_BITS: usize = 96;

fn places(level: Level) -> Places {
    let validation = META + 96..META + if level >= Level::L2 { 224 } else { 96 };
    let infos = validation.end;
    Places { validation, infos, hops: infos + 2 * INFO_BITS }
}

fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut flipped = bytes.to_vec();
    flipped[bit / 8] ^= 0x80 >> (bit % 8);
    flipped
}

/// CurrINF and CurrHF, and the SegIDs: what routers write.
fn is_mutable(level: Level, bit: usize) -> bool {
    let seg_id = |info: usize| {
        let start = places(level).infos + info * INFO_BITS + 16;
        (start..start + 16).contains(&bit)
    };
    (META..META + 8).contains(&bit) || seg_id(0) || seg_id(1)
}

/// What a fresh receiver at E's host says.
fn received(network: &Network, bytes: &[u8]) -> Result<(), Reason> {
    let mut receiver = Receiver::new((ia(4), host(2)), Settings::default());
    let key = |(from, src)| (from == ia(0)).then(|| network.keys(src, host(2)).destination);
    let arrival = receiver.receive(bytes, network.now(), key)?;
    arrival.verdict.map(|_| ())
}

#[test]
fn destinations_accept_other_bits_only_where_routers_write() {
    let mut network = Network::new(Cipher::Aes, EngineKind::Jit);
    for level in [Level::L2, Level::L3] {
        let arrived = network.deliver_bytes(network.sealed(level, 1).packet.encode()).unwrap();
        assert_eq!(received(&network, &arrived), Ok(()));
        for bit in 0..8 * arrived.len() {
            let found = received(&network, &flipped(&arrived, bit));
            assert_eq!(found.is_ok(), is_mutable(level, bit), "{level:?}, bit {bit}: {found:?}");
        }
        let at = places(level);
        for (what, bits, reason) in [
            ("version", 0..4, Reason::Malformed),
            ("traffic class and flow id", 4..32, Reason::Validation),
            ("next header", 32..40, Reason::Validation),
            ("header length", 40..48, Reason::Malformed),
            ("reserved", 80..96, Reason::NotCanonical),
            ("destination's AS", 96..160, Reason::Elsewhere),
            ("source's AS", 160..224, Reason::UnknownSource),
            ("destination", HOST.start..HOST.start + 32, Reason::Elsewhere),
            ("source", HOST.start + 32..HOST.end, Reason::Validation),
            ("reserved in the path meta header", META + 8..META + 14, Reason::NotCanonical),
            ("counter", META + 64..META + 96, Reason::Validation),
            ("validation field", at.validation, Reason::Validation),
            ("reserved and peering", at.infos..at.infos + 7, Reason::NotCanonical),
            ("direction", at.infos + 7..at.infos + 8, Reason::Validation),
            ("reserved", at.infos + 8..at.infos + 16, Reason::NotCanonical),
            ("alerts", at.hops..at.hops + 8, Reason::NotCanonical),
            ("last hop", at.hops + 5 * HOP_BITS + 8..at.hops + 6 * HOP_BITS, Reason::Validation),
        ] {
            for bit in bits {
                assert_eq!(received(&network, &flipped(&arrived, bit)), Err(reason), "{level:?}, {what}, bit {bit}");
            }
        }
    }
}

/// Nothing is proved at these levels, but versions, reserved bits and the rest must be right.
#[test]
fn destinations_drop_what_is_not_canonical_at_every_level() {
    let mut network = Network::new(Cipher::Aes, EngineKind::Jit);
    for level in [Level::L0, Level::L1] {
        let arrived = network.deliver_bytes(network.sealed(level, 1).packet.encode()).unwrap();
        let at = places(level);
        let must_be_zero = |bit: usize| {
            let info = |n: usize| {
                bit.wrapping_sub(at.infos + n * INFO_BITS) < 16 && bit % INFO_BITS != (at.infos + 7) % INFO_BITS
            };
            let flags = |n: usize| bit.wrapping_sub(at.hops + n * HOP_BITS) < 8;
            (80..96).contains(&bit) || (META + 8..META + 14).contains(&bit) || info(0) || info(1) || (0..6).any(flags)
        };
        for bit in 0..8 * arrived.len() {
            let found = received(&network, &flipped(&arrived, bit));
            // Of another level, or with addresses and segments of other lengths, the fields are elsewhere.
            if (64..80).contains(&bit) || (META + 14..META + 32).contains(&bit) {
                // Levels 0 and 1 have the same format, and neither proves its number.
                assert_eq!(found.is_ok(), bit == 71, "{level:?}, bit {bit}");
                continue;
            }
            assert_eq!(found == Err(Reason::NotCanonical), must_be_zero(bit), "{level:?}, bit {bit}: {found:?}");
            assert!(bit >= 4 || found == Err(Reason::Malformed), "version");
        }
    }
}

/// The first router, at level 2. What it does not look at is for others: other hops for their routers, the rest for the
/// destination.
#[test]
fn routers_refuse_every_other_bit_that_they_check() {
    let at = places(Level::L2);
    let ignored = [
        4..40,                                      // traffic class, flow id, next header
        72..74,                                     // type of the destination's address
        80..160,                                    // reserved, destination's AS
        HOST.start..HOST.start + 32,                // destination
        META + 8..META + 14,                        // reserved
        at.validation.clone(),                      // for the destination
        at.infos..at.infos + 6,                     // reserved
        at.infos + 8..at.infos + 16,                // reserved
        at.infos + INFO_BITS..at.hops,              // the other segment
        at.hops..at.hops + 8,                       // alerts
        at.hops + HOP_BITS..at.hops + 6 * HOP_BITS, // other hops
    ];
    // With this bit the packet is for the router's own AS.
    let own = 96 + 61;
    for engine in [EngineKind::Jit, EngineKind::Interp] {
        let mut network = Network::new(Cipher::Aes, engine);
        let packet = network.sealed(Level::L2, 1).packet.encode();
        for bit in 0..at.hops + 6 * HOP_BITS {
            let passes = ignored.iter().any(|bits| bits.contains(&bit)) && bit != own;
            let outcome = network.at(0, HOSTS, &flipped(&packet, bit));
            assert_eq!(matches!(outcome, Outcome::Sent(..)), passes, "bit {bit}: {outcome:?}");
            match bit {
                0..4 => assert_eq!(outcome, Outcome::Dropped(VERSION)),
                _ if bit == at.infos + 6 => assert_eq!(outcome, Outcome::Dropped(PEERING)),
                _ => {}
            }
        }
    }
}

/// At a segment change a router uses two info fields.
#[test]
fn routers_refuse_the_peering_flag_of_both_segments() {
    for engine in [EngineKind::Jit, EngineKind::Interp] {
        let mut network = Network::new(Cipher::Aes, engine);
        for level in Level::ALL {
            let packet = network.sealed(level, 1).packet.encode();
            let second = flipped(&packet, places(level).infos + INFO_BITS + 6);
            assert_eq!(network.deliver_bytes(second), Err((2, Outcome::Dropped(PEERING))), "{level:?}");
        }
    }
}
