//! Which packets a destination's receiver accepts, and what it remembers.

use hopwright_epic::network::Endpoint;
use hopwright_epic::receiver::{Proof, Reason, Receiver, Settings};
use hopwright_epic::source::{self, Keys, Message};
use hopwright_epic::{BeaconHop, Cipher, Host, IsdAs, Key, Level, Path, PathSegment};

const NOW: u32 = 1_700_000_000;
const HERE: IsdAs = IsdAs(0x0001_ff00_0000_0110);

fn here() -> Endpoint {
    (HERE, Host("10.0.0.2".parse().unwrap()))
}

fn host(number: u8) -> Host {
    Host(format!("10.0.1.{number}").parse().unwrap())
}

fn key() -> Key {
    Key::from([7; 16])
}

/// A packet of an AS as it arrives.
fn packet(level: Level, src: Endpoint, timestamp: u32, counter: u32) -> Vec<u8> {
    let hop_key = Key::from([3; 16]);
    let hops = [BeaconHop { ia: HERE, key: &hop_key, ingress: 0, egress: 0 }];
    let path =
        Path { cipher: Cipher::Aes, segments: vec![PathSegment::construct(Cipher::Aes, NOW - 60, 1, 63, &hops)] };
    let keys = Keys { routers: [(HERE, key())].into(), destination: key() };
    let payload = b"payload".to_vec();
    let message = Message { level, src, dst: here(), timestamp, counter, next_hdr: 254, payload };
    source::seal(message, &path, Some(&keys)).unwrap().packet.encode()
}

fn receive(receiver: &mut Receiver, bytes: &[u8], now_s: u32) -> Result<Proof, Reason> {
    receiver.receive(bytes, now_s, |(ia, _)| (ia.0 >> 48 == 1).then(key)).and_then(|arrival| arrival.verdict)
}

#[test]
fn packets_are_accepted_while_they_are_fresh() {
    for level in [Level::L0, Level::L1, Level::L2] {
        let proof = if level == Level::L2 { Proof::Source } else { Proof::Nothing };
        for (settings, age, expected) in [
            (Settings::default(), -2, Err(Reason::FromFuture)),
            (Settings::default(), -1, Ok(proof)),
            (Settings::default(), 3, Ok(proof)),
            (Settings::default(), 4, Err(Reason::Stale)),
            (Settings::default(), 3 * 366 * 86_400, Err(Reason::Stale)),
            (Settings { lifetime_s: 60, skew_s: 0, ..Settings::default() }, 60, Ok(proof)),
            (Settings { lifetime_s: 60, skew_s: 0, ..Settings::default() }, 61, Err(Reason::Stale)),
            (Settings { lifetime_s: 60, skew_s: 0, ..Settings::default() }, -1, Err(Reason::FromFuture)),
        ] {
            let mut receiver = Receiver::new(here(), settings);
            let bytes = packet(level, (HERE, host(1)), NOW.wrapping_add_signed(-age), 1);
            assert_eq!(receive(&mut receiver, &bytes, NOW), expected, "{level:?}, {age} s, {settings:?}");
        }
    }
}

#[test]
fn authenticated_packets_are_accepted_once() {
    let mut receiver = Receiver::new(here(), Settings::default());
    let bytes = packet(Level::L2, (HERE, host(1)), NOW, 1);
    // A forged copy that comes first changes nothing.
    let mut forged = bytes.clone();
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(receive(&mut receiver, &forged, NOW), Err(Reason::Validation));
    assert_eq!(receive(&mut receiver, &bytes, NOW), Ok(Proof::Source));
    for now in [NOW, NOW + 1, NOW + 3] {
        assert_eq!(receive(&mut receiver, &bytes, now), Err(Reason::Duplicate));
    }
    assert_eq!(receive(&mut receiver, &bytes, NOW + 4), Err(Reason::Stale));
    // A clock that goes back does not make it fresh again.
    assert_eq!(receive(&mut receiver, &bytes, NOW), Err(Reason::Stale));
    for other in [packet(Level::L2, (HERE, host(1)), NOW + 4, 1), packet(Level::L2, (HERE, host(2)), NOW + 4, 1)] {
        assert_eq!(receive(&mut receiver, &other, NOW + 4), Ok(Proof::Source));
    }
    let counted: Vec<_> = receiver.dropped().iter().map(|(reason, count)| (*reason, *count)).collect();
    assert_eq!(counted, [(Reason::Stale, 2), (Reason::Validation, 1), (Reason::Duplicate, 3)]);
    assert_eq!(receiver.accepted(), 3);
}

/// Nobody knows who sent them: remembering them would let others use up the memory of this source.
#[test]
fn packets_that_prove_nothing_are_not_remembered() {
    let settings = Settings { remembered: 1, remembered_by_as: 1, ..Settings::default() };
    let mut receiver = Receiver::new(here(), settings);
    for counter in 0..5 {
        let bytes = packet(Level::L1, (HERE, host(1)), NOW, counter);
        assert_eq!(receive(&mut receiver, &bytes, NOW), Ok(Proof::Nothing));
        assert_eq!(receive(&mut receiver, &bytes, NOW), Ok(Proof::Nothing));
    }
    let bytes = packet(Level::L2, (HERE, host(1)), NOW, 9);
    assert_eq!(receive(&mut receiver, &bytes, NOW), Ok(Proof::Source));
}

/// An AS knows the keys of all its hosts.
#[test]
fn a_hostile_as_uses_up_its_own_share_of_a_bounded_memory() {
    let settings = Settings { remembered_by_as: 10, remembered: 25, ..Settings::default() };
    let mut receiver = Receiver::new(here(), settings);
    let from = |number: u64| IsdAs(HERE.0 + number);
    let mut at = |ia: IsdAs, now: u32, counter: u32| {
        receive(&mut receiver, &packet(Level::L2, (ia, host(counter as u8)), now, counter), now)
    };
    for counter in 0..50 {
        let expected = if counter < 10 { Ok(Proof::Source) } else { Err(Reason::TooMany) };
        assert_eq!(at(from(1), NOW, counter), expected);
    }
    // What is remembered is still found, and other ASes have their share.
    assert_eq!(at(from(1), NOW, 3), Err(Reason::Duplicate));
    assert_eq!(at(from(2), NOW, 3), Ok(Proof::Source));
    for counter in 10..100 {
        let _ = at(from(u64::from(counter)), NOW, counter);
    }
    assert_eq!(at(from(200), NOW, 1), Err(Reason::TooMany));
    // When these are no longer fresh there is room again.
    for counter in 0..10 {
        assert_eq!(at(from(1), NOW + 4, counter), Ok(Proof::Source));
    }
}

#[test]
fn packets_of_nobody_and_for_others_are_counted() {
    let mut receiver = Receiver::new(here(), Settings::default());
    let stranger = packet(Level::L3, (IsdAs(2 << 48), host(1)), NOW, 1);
    let mut elsewhere = packet(Level::L2, (HERE, host(1)), NOW, 1);
    elsewhere[31] ^= 1;
    for _ in 0..3 {
        assert_eq!(receive(&mut receiver, &stranger, NOW), Err(Reason::UnknownSource));
        assert_eq!(receive(&mut receiver, &elsewhere, NOW), Err(Reason::Elsewhere));
        assert_eq!(receive(&mut receiver, b"no packet", NOW), Err(Reason::Malformed));
    }
    assert!(receiver.dropped().values().all(|count| *count == 3));
    let bytes = packet(Level::L3, (HERE, host(1)), NOW, 1);
    // No router has processed it.
    assert_eq!(receive(&mut receiver, &bytes, NOW), Err(Reason::Validation));
}
