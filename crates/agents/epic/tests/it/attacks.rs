//! What each level promises, shown by attacks: from the level that promises it on an attack fails, and at the level below it
//! succeeds. Each runs with machine code and with the interpreter, most with both ciphers.

use crate::network::{HOSTS, Network, Outcome, host, ia};
use hopwright_dataplane::EngineKind;
use hopwright_epic::destination::{Arrived, Receipt, Refused};
use hopwright_epic::source::{self, NotConfirmed};
use hopwright_epic::{Cipher, Key, Level, Packet, Path};

// Numbers of `Reason` in p4/epic/reasons.p4.
const LEVEL: u8 = 4;
const UNKNOWN_INGRESS: u8 = 5;
const PATH_EXPIRED: u8 = 8;
const HOP_AUTHENTICATOR: u8 = 9;
const DUPLICATE: u8 = 10;
const STALE: u8 = 64;
const FROM_FUTURE: u8 = 65;

/// Runs a check on a network for every engine, with these ciphers.
fn networks(ciphers: &[Cipher], check: impl Fn(&mut Network)) {
    for engine in [EngineKind::Jit, EngineKind::Interp] {
        for &cipher in ciphers {
            check(&mut Network::new(cipher, engine));
        }
    }
}

/// Whether the attack's packet gets to the destination and, where the level has one, passes its check.
fn succeeds(network: &mut Network, packet: &Packet) -> bool {
    let Ok(arrived) = network.deliver(packet) else { return false };
    let key = network.keys(packet.src, packet.dst).destination;
    arrived.level < Level::L2 || check(&arrived, &key).is_ok()
}

fn check(packet: &Packet, key: &Key) -> Result<(), Refused> {
    Arrived::decode(&packet.encode()).unwrap().check(key)
}

/// The attack fails from this level on and not before.
fn fails_from(network: &mut Network, level: Option<Level>, attack: impl Fn(&mut Network, Level) -> bool) {
    for at in Level::ALL {
        let expected = level.is_none_or(|level| at < level);
        assert_eq!(attack(network, at), expected, "{at:?}, {:?}", network.cipher);
    }
}

#[test]
fn honest_packets_arrive_at_every_level() {
    networks(&Cipher::ALL, |network| {
        for level in Level::ALL {
            let sealed = network.sealed(level, 1);
            let arrived = network.deliver(&sealed.packet).unwrap();
            assert_eq!((arrived.curr_inf, arrived.curr_hf), (1, 5));
            assert_eq!(arrived.payload, sealed.packet.payload);
            let keys = network.keys(host(1), host(2));
            assert_eq!(check(&arrived, &keys.destination).is_ok(), level >= Level::L2);
            let receipt = Receipt::decode(&Receipt::new(&arrived, &keys.destination).encode()).unwrap();
            let confirmed = sealed.check(&receipt, &keys);
            assert_eq!(confirmed, if level == Level::L3 { Ok(()) } else { Err(NotConfirmed::Level) });
        }
    });
}

#[test]
fn routers_refuse_levels_below_theirs() {
    networks(&[Cipher::Aes], |network| {
        network.change(|router| router.min_level = Level::L2);
        for level in Level::ALL {
            let packet = network.sealed(level, 1).packet;
            let expected = (level < Level::L2).then_some((0, Outcome::Dropped(LEVEL)));
            assert_eq!(network.deliver(&packet).err(), expected);
        }
    });
}

/// Nobody has allowed this hop.
#[test]
fn forged_hops_fail_at_every_level() {
    networks(&Cipher::ALL, |network| {
        fails_from(network, Some(Level::L0), |network, level| {
            let mut packet = network.sealed(level, 1).packet;
            packet.segments[1].hops[1].exp_time += 1;
            let at = network.deliver(&packet).err();
            assert_eq!(at, Some((3, Outcome::Dropped(HOP_AUTHENTICATOR))));
            false
        });
    });
}

/// Each hop is good, but in another segment.
#[test]
fn spliced_paths_fail_at_every_level() {
    networks(&Cipher::ALL, |network| {
        fails_from(network, Some(Level::L0), |network, level| {
            let mut path = network.path();
            let other = network.segment(&[2, 3, 4], 0x3333, path.segments[1].info.timestamp);
            path.segments[1].hops[1..].clone_from_slice(&other.hops[1..]);
            let keys = network.keys(host(1), host(2));
            let packet = source::seal(network.message(level, 1), &path, Some(&keys)).unwrap().packet;
            assert_eq!(network.deliver(&packet).err(), Some((3, Outcome::Dropped(HOP_AUTHENTICATOR))));
            false
        });
    });
}

#[test]
fn expired_paths_and_wrong_interfaces_fail_at_every_level() {
    networks(&[Cipher::Aes], |network| {
        for level in Level::ALL {
            let packet = network.sealed(level, 1).packet;
            assert_eq!(network.at(1, 2, &packet.encode()), Outcome::Dropped(UNKNOWN_INGRESS));
            let timestamp = network.now() - 22_000;
            let path = Path {
                cipher: network.cipher,
                segments: vec![
                    network.segment(&[2, 1, 0], 1, timestamp).reversed(),
                    network.segment(&[2, 3, 4], 2, timestamp),
                ],
            };
            let keys = network.keys(host(1), host(2));
            let packet = source::seal(network.message(level, 1), &path, Some(&keys)).unwrap().packet;
            assert_eq!(network.deliver(&packet).err(), Some((0, Outcome::Dropped(PATH_EXPIRED))));
        }
    });
}

/// A recorded packet, some seconds later. Routers show it to the control plane.
#[test]
fn stale_packets_go_to_the_cpu_port() {
    networks(&[Cipher::Aes], |network| {
        for level in Level::ALL {
            let packet = network.sealed(level, 1).packet;
            let sent = network.now_us;
            for (seconds, expected) in [(-3, Some(FROM_FUTURE)), (-1, None), (2, None), (5, Some(STALE))] {
                network.now_us = sent.strict_add_signed(seconds * 1_000_000);
                let outcome = network.at(0, HOSTS, &packet.encode());
                match expected {
                    Some(reason) => assert_eq!(outcome, Outcome::Punted(reason)),
                    None => assert!(matches!(outcome, Outcome::Sent(1, _)), "{outcome:?}"),
                }
            }
            network.now_us = sent;
        }
    });
}

/// The same with a new timestamp: at level 0 nothing speaks against it.
#[test]
fn a_new_timestamp_on_an_old_packet_fails_from_level_1_on() {
    networks(&Cipher::ALL, |network| {
        fails_from(network, Some(Level::L1), |network, level| {
            let mut packet = network.sealed(level, 1).packet;
            let sent = network.now_us;
            network.now_us += 10_000_000;
            packet.timestamp += 10;
            let done = network.deliver(&packet).is_ok();
            network.now_us = sent;
            done
        });
    });
}

/// Within the window only duplicate suppression finds a packet that comes again.
#[test]
fn replayed_packets_fail_with_duplicate_suppression() {
    networks(&[Cipher::Aes], |network| {
        for level in Level::ALL {
            let packet = network.sealed(level, 1).packet;
            assert!(succeeds(network, &packet) && succeeds(network, &packet));
        }
        network.change(|router| router.suppress_duplicates = true);
        for level in Level::ALL {
            let packet = network.sealed(level, 100 + level as u32).packet;
            assert!(succeeds(network, &packet));
            assert_eq!(network.deliver(&packet).err(), Some((0, Outcome::Dropped(DUPLICATE))));
            // Two seconds later, perhaps in the next window.
            network.now_us += 2_000_000;
            assert_eq!(network.deliver(&packet).err(), Some((0, Outcome::Dropped(DUPLICATE))));
            network.now_us -= 2_000_000;
            // Other packets pass.
            let other = network.sealed(level, 200 + level as u32).packet;
            assert!(succeeds(network, &other));
        }
    });
}

/// With a counter of its own a copy is no duplicate. Level 1 does not accept that.
#[test]
fn replayed_packets_with_a_new_counter_fail_from_level_1_on() {
    networks(&Cipher::ALL, |network| {
        network.change(|router| router.suppress_duplicates = true);
        fails_from(network, Some(Level::L1), |network, level| {
            let mut packet = network.sealed(level, level as u32).packet;
            assert!(succeeds(network, &packet));
            packet.counter += 100;
            network.deliver(&packet).is_ok()
        });
    });
}

/// Somebody saw the hop fields of a packet and puts them on his own.
#[test]
fn observed_hop_fields_are_useless_from_level_1_on() {
    networks(&Cipher::ALL, |network| {
        fails_from(network, Some(Level::L1), |network, level| {
            let mut packet = network.sealed(level, 1).packet;
            packet.src = host(3);
            packet.payload = b"other".to_vec();
            network.deliver(&packet).is_ok()
        });
    });
}

/// No guess among twenty thousand is right. At level 0 one that were would be good for all packets of the path, from level 1 on
/// for a single one.
#[test]
fn a_guessed_authenticator_is_good_for_one_packet_from_level_1_on() {
    let network = &mut Network::new(Cipher::Aes, EngineKind::Jit);
    for level in Level::ALL {
        let good = network.sealed(level, 1).packet;
        let mut guess = good.clone();
        for number in 0..20_000u32 {
            guess.segments[0].hops[0].hvf = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
            if guess != good {
                assert_eq!(network.at(0, HOSTS, &guess.encode()), Outcome::Dropped(HOP_AUTHENTICATOR));
            }
        }
        let accepted = (2..1002).filter(|&counter| {
            let mut packet = network.sealed(level, counter).packet;
            packet.segments[0].hops[0].hvf = good.segments[0].hops[0].hvf;
            matches!(network.at(0, HOSTS, &packet.encode()), Outcome::Sent(..))
        });
        assert_eq!(accepted.count(), if level == Level::L0 { 1000 } else { 0 });
    }
}

/// Another host of the AS has the path, too, and writes this host's address into its packets.
#[test]
fn wrong_sources_fail_from_level_2_on() {
    networks(&Cipher::ALL, |network| {
        fails_from(network, Some(Level::L2), |network, level| {
            // Its keys are those of its own address.
            let keys = network.keys(host(3), host(2));
            let packet = source::seal(network.message(level, 1), &network.path(), Some(&keys)).unwrap().packet;
            let outcome = network.deliver(&packet);
            if level >= Level::L2 {
                assert_eq!(outcome.clone().err(), Some((0, Outcome::Dropped(HOP_AUTHENTICATOR))));
            }
            outcome.is_ok()
        });
    });
}

/// A router of the path writes another payload.
#[test]
fn changed_payloads_fail_at_the_destination_from_level_2_on() {
    networks(&Cipher::ALL, |network| {
        fails_from(network, Some(Level::L2), |network, level| {
            let mut packet = network.sealed(level, 1).packet;
            packet.payload[7] ^= 0x20;
            assert!(network.deliver(&packet).is_ok(), "routers do not look at it");
            succeeds(network, &packet)
        });
    });
}

/// B hands the packet to D past C, and writes the path as if C had processed it.
#[test]
fn skipped_routers_are_found_at_level_3() {
    networks(&Cipher::ALL, |network| {
        fails_from(network, Some(Level::L3), |network, level| {
            let sealed = network.sealed(level, 1);
            let Outcome::Sent(1, bytes) = network.at(0, HOSTS, &sealed.packet.encode()) else { panic!() };
            let Outcome::Sent(2, bytes) = network.at(1, 1, &bytes) else { panic!() };
            let mut packet = Packet::decode(&bytes).unwrap();
            (packet.curr_inf, packet.curr_hf) = (1, 4);
            packet.segments[1].info.seg_id ^= u16::from_be_bytes(packet.segments[1].hops[0].chain);
            let Outcome::Sent(2, bytes) = network.at(3, 1, &packet.encode()) else { panic!() };
            let Outcome::Sent(HOSTS, bytes) = network.at(4, 1, &bytes) else { panic!() };
            let arrived = Packet::decode(&bytes).unwrap();
            let keys = network.keys(host(1), host(2));
            if level == Level::L3 {
                // The destination's receipt shows the source which AS it was.
                let receipt = Receipt::new(&arrived, &keys.destination);
                assert_eq!(sealed.check(&receipt, &keys), Err(NotConfirmed::Skipped(ia(2))));
                let forged = Receipt { tag: [0; 16], ..receipt };
                assert_eq!(sealed.check(&forged, &keys), Err(NotConfirmed::Forged));
            }
            level < Level::L2 || check(&arrived, &keys.destination).is_ok()
        });
    });
}

/// IPv6 addresses make all messages longer by a block.
#[test]
fn hosts_may_have_ipv6_addresses() {
    networks(&Cipher::ALL, |network| {
        let six = |text: &str| hopwright_epic::Host(text.parse().unwrap());
        let (src, dst) = (six("2001:db8::1"), host(2));
        for level in Level::ALL {
            let mut message = network.message(level, 1);
            message.src.1 = src;
            let keys = network.keys(src, dst);
            let mut packet = source::seal(message, &network.path(), Some(&keys)).unwrap().packet;
            assert!(succeeds(network, &packet));
            // The last byte of the address is covered, too.
            packet.src = six("2001:db8::2");
            assert_eq!(network.deliver(&packet).is_ok(), level == Level::L0);
        }
    });
}
