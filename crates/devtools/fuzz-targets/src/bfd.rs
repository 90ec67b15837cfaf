//! Frames that the program classifies as BFD, and their effect on a router's sessions over time.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use hopwright_scion::bfd::machine::State;
use hopwright_scion::bfd::packet::Control;
use hopwright_scion::bfd::sessions::Sessions;
use hopwright_scion::bfd::{Counts, LinkChange, Route, Spec, frame, specs};
use hopwright_scion::config;
use hopwright_scion::config::keys::HopKey;
use hopwright_scion::config::links::Link;
use hopwright_scion::synthetic::{self, INTERNAL_PORT};
use hopwright_scion::underlay::next_hop::NextHop;

use crate::packets::{IPV6_INSIDE, NOW_S};
use crate::repair;

/// Of an input's further bytes each frame has this many in front: its length, the link it belongs to, what of it is made
/// right, milliseconds / 8 since the one before.
const HEAD: usize = 4;
/// Flag in the third of them: the frame is one of the link's, with the bytes after the head as its control packet.
pub(crate) const WRITTEN: u8 = 0x01;

/// Derived once, because deriving takes a thousand rounds.
static KEY: LazyLock<HopKey> = LazyLock::new(|| HopKey::derive(b"fuzz"));

/// The fates of an input's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Accepted frames.
    pub received: u64,
    /// Frames of a link that were discarded.
    pub discarded: u64,
    /// Frames of no session.
    pub strays: u64,
    /// Links that came up.
    pub up: u64,
    /// Links that went down.
    pub down: u64,
}

/// Any bytes are frames that arrive by links: none makes a session violate the protocol. The first byte selects an AS with
/// IPv4 or IPv6 inside. Returns the fates of the frames.
pub fn bfd(data: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    let Some((flags, mut rest)) = data.split_first() else { return outcome };
    let links = synthetic::rich_links(flags & IPV6_INSIDE != 0);
    let wanted = specs(&links, &config::Bfd::default()).expect("the default intervals are good");
    let key = &*KEY;
    let mut sessions = Sessions::new(key.clone(), || 0x0123_4567_89ab_cdef);
    let mut now = Instant::now();
    let own = &wanted[usize::from(flags & 0x0f) % wanted.len()];
    sessions.configure(vec![own.clone()], now);
    let link = own.link;
    let (port, interface) = match link {
        Link::External(id) => (id, id),
        Link::Sibling(_) => (INTERNAL_PORT, 0),
    };
    let next_hop = NextHop { port, dst_mac: [2; 6], src_mac: [4; 6], mtu: 1500 };
    sessions.set_route(link, Some(Route { next_hop, direct: true }));
    let mut frames = 0;
    while let Some((head, after)) = rest.split_at_checked(HEAD) {
        let (bytes, after) = after.split_at(usize::from(head[0]).min(after.len()));
        rest = after;
        let theirs = &wanted[usize::from(head[1]) % wanted.len()];
        let (by_port, by_interface) = if head[1] & 0x80 == 0 { (port, interface) } else { (head[1].into(), 0) };
        let mut frame = bytes.to_vec();
        if head[2] & WRITTEN != 0 {
            frame = written(theirs, bytes, key, &next_hop);
        }
        repair::repair(&mut frame, head[2] & (repair::LENGTHS | repair::SIGNATURES), true);
        now += Duration::from_millis(u64::from(head[3]) * 8);

        let before = counts(&sessions);
        let was_up = sessions.is_up(link);
        sessions.receive(by_port, by_interface, &frame, now);
        frames += 1;
        let after = counts(&sessions);
        let good = frame::read(&frame).is_some_and(|read| {
            Control::decode(read.payload).is_ok()
                && (read.src, read.dst) == (own.underlay.remote, own.underlay.local)
                && by_port == port
        });
        assert!(after[0] == before[0] || good, "a packet counts that the other end has not sent");
        assert!(good || sessions.is_up(link) == was_up, "a packet that does not count changes the link");

        let mut sent = 0;
        sessions.run(now, NOW_S, |by, frame| {
            assert_eq!(by, port);
            let read = frame::read(frame).expect("what is sent can be read");
            assert!(Control::decode(read.payload).is_ok(), "what is sent is good");
            sent += 1;
            true
        });
        assert!(sent <= 1, "{sent} packets at once");
        assert!(sessions.deadline().is_some_and(|at| at > now), "a session that never rests");
        for (_, change) in sessions.take_changes() {
            *(if change == LinkChange::Up { &mut outcome.up } else { &mut outcome.down }) += 1;
        }
    }
    [outcome.received, outcome.discarded, outcome.strays] = counts(&sessions);
    assert_eq!(outcome.received + outcome.discarded + outcome.strays, frames, "each frame is counted once");
    // Whatever was received, a silent link goes down after the longest interval times the largest multiplier.
    if sessions.is_up(link) {
        let silence = Duration::from_secs(256 * 4295);
        let mut sent = 0;
        sessions.run(now + silence, NOW_S, |_, _| {
            sent += 1;
            true
        });
        assert!(!sessions.is_up(link), "a link is up in silence");
        assert!(sent <= 1, "what was missed is not sent later");
    }
    outcome
}

/// A frame of the link's other end, with any bytes as its control packet.
fn written(spec: &Spec, bytes: &[u8], key: &HopKey, next_hop: &NextHop) -> Vec<u8> {
    let mut underlay = spec.underlay;
    std::mem::swap(&mut underlay.local, &mut underlay.remote);
    let theirs = Spec { underlay, local_ia: spec.remote_ia, remote_ia: spec.local_ia, ..spec.clone() };
    let any = Control {
        state: State::Down,
        detect_mult: 3,
        my_discriminator: 1,
        your_discriminator: 0,
        desired_min_tx_us: 1,
        required_min_rx_us: 1,
    };
    let mut frame = frame::write(&theirs, &any, next_hop, key, NOW_S);
    let at = frame.len() - Control::BYTES;
    frame[at..].iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    repair::repair(&mut frame, repair::SIGNATURES, true);
    frame
}

fn counts(sessions: &Sessions) -> [u64; 3] {
    let status = sessions.status();
    let of = |figure: fn(&Counts) -> u64| status.iter().map(|s| figure(&s.counts)).sum();
    [of(|c| c.received), of(|c| c.discarded), sessions.strays().values().sum()]
}
