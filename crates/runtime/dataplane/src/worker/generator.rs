//! Packet generators: packets that a worker makes by its clock or when a port loses its link, and runs as if it had received them.
//!
//! Time passes in the worker's rounds. A round makes a bounded number of packets; a generator that is too fast for the worker makes
//! fewer than it should.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::packet::{Packet, Pool};
use crate::port::MAX_PORT_QUEUES;

/// Most generators of a tenant.
pub const MAX_GENERATORS: usize = 64;
/// What a worker is late by more than this is not made up for.
const LATEST: Duration = Duration::from_millis(10);

/// The packets of a generator: at each of its triggers, batches of packets.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The port by which programs see them come, which need not exist.
    pub ingress_port: u32,
    /// The bytes of each.
    pub packet: Box<[u8]>,
    /// Where the numbers of its batch and of its place in the batch are written into it: two bytes each, the higher one first.
    pub numbers: [usize; 2],
    /// What triggers it.
    pub trigger: Trigger,
    /// Batches at a trigger; no fewer than one.
    pub batches: u32,
    /// Packets in a batch; no fewer than one.
    pub packets: u32,
    /// Time between batches.
    pub batch_gap: Gap,
    /// Time between packets of a batch.
    pub packet_gap: Gap,
    /// What the worker counts.
    pub counts: Arc<StreamCounts>,
}

/// What triggers a generator.
#[derive(Clone, Debug)]
pub enum Trigger {
    /// Time.
    Timer {
        /// To the first trigger.
        delay: Duration,
        /// Further triggers follow, each after this time.
        periodic: bool,
    },
    /// A port that loses its link. In packets its number takes the place of that of the batch.
    PortDown {
        /// The ports that it triggers for.
        ports: Range<u32>,
        /// Ports that have lost their link: they trigger no generator with this set until they are taken out.
        down: Arc<PortSet>,
    },
}

/// A set of ports.
#[derive(Debug, Default)]
pub struct PortSet([AtomicU64; MAX_PORT_QUEUES.div_ceil(64)]);

impl PortSet {
    /// Adds a port; true if it was not there.
    pub fn add(&self, port: u32) -> bool {
        let bit = 1 << (port % 64);
        self.0.get(port as usize / 64).is_some_and(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }

    /// Takes a port out.
    pub fn remove(&self, port: u32) {
        if let Some(word) = self.0.get(port as usize / 64) {
            word.fetch_and(!(1 << (port % 64)), Ordering::Relaxed);
        }
    }

    /// Takes the port with the smallest number out, if there is one.
    fn take_first(&self) -> Option<u32> {
        let (at, word) = self.0.iter().enumerate().find(|(_, word)| word.load(Ordering::Relaxed) != 0)?;
        let port = 64 * at as u32 + word.load(Ordering::Relaxed).trailing_zeros();
        self.remove(port);
        Some(port)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| word.load(Ordering::Relaxed) == 0)
    }
}

/// A time, to which a random part of another one is added.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gap {
    /// The shortest gap.
    pub least: Duration,
    /// How much longer it may be.
    pub jitter: Duration,
}

/// How often a generator was triggered, and what it made.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct StreamCounts {
    pub triggers: AtomicU64,
    pub batches: AtomicU64,
    pub packets: AtomicU64,
}

/// A generator in the hands of a worker.
pub(crate) struct Generator {
    /// Less than [`MAX_GENERATORS`]. The tenant's generator with this number gives way to it.
    pub id: u8,
    /// None: it makes nothing.
    stream: Option<Stream>,
    /// The time of the next packet.
    due: Option<Instant>,
    triggered: Instant,
    /// The port that triggered it, and ports whose triggers wait.
    port: u32,
    ports: PortSet,
    batch: u32,
    packet: u32,
    random: u64,
}

impl Generator {
    /// Begins at this time.
    pub(crate) fn new(id: u8, stream: Option<Stream>, now: Instant) -> Generator {
        let due = match stream.as_ref().map(|stream| &stream.trigger) {
            Some(Trigger::Timer { delay, .. }) => now.checked_add(*delay),
            Some(Trigger::PortDown { .. }) | None => None,
        };
        Generator {
            id,
            stream,
            due,
            triggered: now,
            port: 0,
            ports: PortSet::default(),
            batch: 0,
            packet: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// The ports that have lost their link, if this one triggers it.
    pub(crate) fn awaits(&self, port: u32) -> Option<&PortSet> {
        match &self.stream.as_ref()?.trigger {
            Trigger::PortDown { ports, down } if ports.contains(&port) => Some(down),
            _ => None,
        }
    }

    /// Is triggered by a port that has lost its link, if it is to be. A trigger that comes while packets of the last one are made
    /// waits; those of several ports come in the order of their numbers.
    pub(crate) fn port_down(&mut self, port: u32, now: Instant) {
        if self.awaits(port).is_some() {
            self.ports.add(port);
            self.due = self.due.or(Some(now));
        }
    }

    /// When it makes the next packet, if it does.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Makes the packets that are due, this many at most. `None` stands for a packet that there was no frame for.
    pub(crate) fn make(
        &mut self,
        now: Instant,
        most: usize,
        pool: &mut Pool,
        mut take: impl FnMut(&mut Pool, Option<Packet>),
    ) -> usize {
        let Some(stream) = &mut self.stream else { return 0 };
        let mut made = 0;
        while made < most
            && let Some(due) = self.due.filter(|due| *due <= now)
        {
            let due = if now.duration_since(due) > LATEST { now } else { due };
            if (self.batch, self.packet) == (0, 0) {
                self.triggered = due;
                self.port = self.ports.take_first().unwrap_or_default();
                stream.counts.triggers.fetch_add(1, Ordering::Relaxed);
            }
            let batch = match stream.trigger {
                Trigger::Timer { .. } => self.batch,
                Trigger::PortDown { .. } => self.port,
            };
            for (at, number) in stream.numbers.into_iter().zip([batch, self.packet]) {
                if let Some(place) = stream.packet.get_mut(at..at + 2) {
                    place.copy_from_slice(&(number as u16).to_be_bytes());
                }
            }
            let mut packet = pool.take_filled(&stream.packet);
            packet.iter_mut().for_each(|packet| packet.set_ingress_port(stream.ingress_port));
            take(pool, packet);
            made += 1;
            stream.counts.packets.fetch_add(1, Ordering::Relaxed);
            self.packet += 1;
            let mut wait = |gap: Gap| {
                // Xorshift, by Marsaglia.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                let jitter = gap.jitter.as_nanos() as u64;
                due.checked_add(gap.least + Duration::from_nanos(self.random % jitter.saturating_add(1)))
            };
            if self.packet < stream.packets {
                self.due = wait(stream.packet_gap);
                continue;
            }
            self.packet = 0;
            self.batch += 1;
            stream.counts.batches.fetch_add(1, Ordering::Relaxed);
            if self.batch < stream.batches {
                self.due = wait(stream.batch_gap);
                continue;
            }
            self.batch = 0;
            // A trigger that comes while packets of the last one are made waits.
            let next = match stream.trigger {
                Trigger::Timer { delay, periodic } => periodic.then(|| self.triggered.checked_add(delay)).flatten(),
                Trigger::PortDown { .. } => (!self.ports.is_empty()).then_some(due),
            };
            self.due = next.map(|next| next.max(due));
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FrameSize;

    const MS: Duration = Duration::from_millis(1);

    fn timer(delay: Duration, periodic: bool) -> Trigger {
        Trigger::Timer { delay, periodic }
    }

    fn stream() -> Stream {
        Stream {
            ingress_port: 68,
            packet: [0xaa; 64].into(),
            numbers: [2, 4],
            trigger: timer(100 * MS, false),
            batches: 2,
            packets: 3,
            batch_gap: Gap { least: 10 * MS, jitter: Duration::ZERO },
            packet_gap: Gap { least: MS, jitter: Duration::ZERO },
            counts: Arc::default(),
        }
    }

    /// Milliseconds, batch and number of each packet in this time.
    fn packets(stream: Stream, ms: u32) -> Vec<(u32, u8, u8)> {
        let mut pool = Pool::new(4, FrameSize::for_mtu(100)).unwrap();
        let begin = Instant::now();
        let mut generator = Generator::new(3, Some(stream), begin);
        let mut all = Vec::new();
        for at in 0..=ms {
            let mut made = Vec::new();
            generator.make(begin + at * MS, 4, &mut pool, |_, packet| made.extend(packet));
            for packet in made {
                assert_eq!((packet.ingress_port(), packet.len()), (68, 64));
                let bytes = packet.bytes();
                assert_eq!([bytes[1], bytes[2], bytes[4], bytes[6]], [0xaa, 0, 0, 0xaa]);
                all.push((at, bytes[3], bytes[5]));
                pool.give(packet);
            }
        }
        all
    }

    #[test]
    fn a_trigger_makes_batches_of_numbered_packets() {
        let all = [(100, 0, 0), (101, 0, 1), (102, 0, 2), (112, 1, 0), (113, 1, 1), (114, 1, 2)];
        let once = stream();
        assert_eq!(packets(once.clone(), 400), all);
        let counts = |c: &StreamCounts| [&c.triggers, &c.batches, &c.packets].map(|n| n.load(Ordering::Relaxed));
        assert_eq!(counts(&once.counts), [1, 2, 6]);
        let again = packets(Stream { trigger: timer(100 * MS, true), ..stream() }, 215);
        assert_eq!(again[..6], all);
        assert_eq!(again[6..], all.map(|(at, batch, packet)| (at + 100, batch, packet)));
    }

    #[test]
    fn ports_that_lose_their_link_trigger_one_after_the_other() {
        let mut pool = Pool::new(16, FrameSize::for_mtu(100)).unwrap();
        let begin = Instant::now();
        let trigger = Trigger::PortDown { ports: 128..256, down: Arc::default() };
        let mut generator = Generator::new(3, Some(Stream { trigger, batches: 1, packets: 2, ..stream() }), begin);
        let mut all = Vec::new();
        for at in 0..20 {
            let now = begin + at * MS;
            let downs: &[u32] = match at {
                5 => &[130, 129, 128, 2],
                15 => &[255],
                _ => &[],
            };
            downs.iter().for_each(|port| generator.port_down(*port, now));
            generator.make(now, 4, &mut pool, |pool, packet| {
                let packet = packet.unwrap();
                let bytes = packet.bytes();
                all.push((at, u16::from_be_bytes([bytes[2], bytes[3]]), bytes[5]));
                pool.give(packet);
            });
            assert_eq!(generator.due().is_some(), (5..8).contains(&at) || at == 15, "{at}");
        }
        let expected =
            [(5, 128, 0), (6, 128, 1), (6, 129, 0), (7, 129, 1), (7, 130, 0), (8, 130, 1), (15, 255, 0), (16, 255, 1)];
        assert_eq!(all, expected);
        assert!(generator.awaits(127).is_none());
        let down = generator.awaits(255).unwrap();
        assert_eq!((down.add(255), down.add(255)), (true, false));
        down.remove(255);
        assert!(down.add(255));
    }

    #[test]
    fn a_trigger_waits_for_the_packets_of_the_last_one() {
        let fast = Stream { trigger: timer(MS, true), batches: 1, ..stream() };
        let times: Vec<u32> = packets(fast, 6).into_iter().map(|(at, ..)| at).collect();
        assert_eq!(times, [1, 2, 3, 3, 4, 5, 5, 6]);
    }

    #[test]
    fn jitter_makes_gaps_longer_within_its_bound() {
        let jitter = Gap { least: 2 * MS, jitter: 8 * MS };
        let times: Vec<u32> = packets(Stream { packet_gap: jitter, batches: 1, packets: 200, ..stream() }, 4000)
            .into_iter()
            .map(|(at, ..)| at)
            .collect();
        let gaps: Vec<u32> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps.len(), 199);
        assert!(gaps.iter().all(|gap| (1..=11).contains(gap)), "{gaps:?}");
        assert!(gaps.iter().any(|gap| *gap <= 3) && gaps.iter().any(|gap| *gap >= 8), "{gaps:?}");
    }

    #[test]
    fn a_worker_that_is_late_makes_up_for_a_little() {
        let mut pool = Pool::new(64, FrameSize::for_mtu(100)).unwrap();
        let begin = Instant::now();
        let every = Stream { trigger: timer(MS, true), batches: 1, packets: 1, ..stream() };
        let mut generator = Generator::new(0, Some(every), begin);
        let mut late = |ms: u32| {
            let (mut made, mut lost) = (Vec::new(), 0);
            generator.make(begin + ms * MS, 32, &mut pool, |_, packet| match packet {
                Some(packet) => made.push(packet),
                None => lost += 1,
            });
            assert_eq!(lost, 0);
            let count = made.len();
            made.into_iter().for_each(|packet| pool.give(packet));
            count
        };
        assert_eq!([late(5), late(1000), late(1003), late(1003)], [5, 1, 3, 0]);
    }
}
