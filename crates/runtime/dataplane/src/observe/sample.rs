//! Copies of packets, taken while a switch forwards: each as it was received, and its verdict.
//!
//! The worker checks one flag per batch. While a sampling is active it copies packets into preallocated buffers; packets that
//! find no free buffer are not sampled. Of a sampling of one packet in many, a batch without a sample costs a subtraction.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_queue::ArrayQueue;
use hopwright_abi::Verdict;

use crate::packet::{MAX_BATCH, Packet};

/// Most samplings at the same time.
const SLOTS: usize = 4;
/// Packets that may wait for each of them.
const WAITING: usize = 256;
/// Any port.
const ANY: u32 = u32::MAX;
/// Between two looks for packets.
const LOOK: Duration = Duration::from_millis(2);

/// A packet and what became of it.
pub struct Sample {
    bytes: Box<[u8]>,
    len: usize,
    ingress_port: u32,
    time_us: u64,
    verdict: Verdict,
    egress_port: u32,
}

impl Sample {
    /// As it came in.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Where it came in.
    pub fn ingress_port(&self) -> u32 {
        self.ingress_port
    }

    /// When its batch was processed, in microseconds since 1970 UTC.
    pub fn time_us(&self) -> u64 {
        self.time_us
    }

    /// What the program decided.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Where it went, if it was forwarded; copies that the program made are not reported.
    pub fn egress_port(&self) -> Option<u32> {
        (self.verdict == Verdict::Forward).then_some(self.egress_port)
    }
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sample")
            .field("len", &self.len)
            .field("ingress_port", &self.ingress_port)
            .field("verdict", &self.verdict)
            .finish_non_exhaustive()
    }
}

/// Where one of them gets its packets.
struct Slot {
    taken: AtomicBool,
    on: AtomicBool,
    port: AtomicU32,
    /// One packet in this many is copied, on average.
    rate: AtomicU32,
    /// Packets to come before the next that is copied.
    skip: AtomicI64,
    /// State of the generator of random gaps.
    random: AtomicU64,
    filled: ArrayQueue<Box<Sample>>,
    free: ArrayQueue<Box<Sample>>,
    lost: AtomicU64,
}

impl Slot {
    /// Packets from one that is copied to the next: random, so that no pattern of packets escapes, and on average the rate.
    fn gap(&self) -> i64 {
        // Marsaglia's xorshift, of "Xorshift RNGs" (2003).
        let mut random = self.random.load(Ordering::Relaxed);
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.store(random, Ordering::Relaxed);
        let most = 2 * u64::from(self.rate.load(Ordering::Relaxed)) - 1;
        1 + (random >> 16) as i64 % most as i64
    }

    /// Calls with the places, among this many packets, of those whose turn it is. Several workers share the gap; when two end it at the
    /// same time, one of them begins the next.
    #[inline]
    fn take_some(&self, packets: usize, mut take: impl FnMut(usize)) {
        let packets = packets as i64;
        let mut at = self.skip.fetch_sub(packets, Ordering::Relaxed);
        if !(0..packets).contains(&at) {
            return;
        }
        while at < packets {
            take(at as usize);
            at += self.gap();
        }
        self.skip.store(at - packets, Ordering::Relaxed);
    }
}

/// Samples of a switch.
pub(crate) struct Samples {
    /// How many sample.
    active: AtomicU32,
    slots: [Slot; SLOTS],
    longest: usize,
}

/// Samples of a batch that is being processed, with their places in it. Belongs to the worker.
pub(crate) struct Held(Vec<(usize, usize, Box<Sample>)>);

impl Held {
    pub(crate) fn new() -> Held {
        Held(Vec::with_capacity(SLOTS * MAX_BATCH))
    }
}

impl Samples {
    /// For packets up to this length.
    pub(crate) fn new(longest: usize) -> Samples {
        let slot = || Slot {
            taken: AtomicBool::new(false),
            on: AtomicBool::new(false),
            port: AtomicU32::new(ANY),
            rate: AtomicU32::new(1),
            skip: AtomicI64::new(0),
            random: AtomicU64::new(1),
            // The worker may still hold a batch of an earlier sampling.
            filled: ArrayQueue::new(WAITING + MAX_BATCH),
            free: ArrayQueue::new(WAITING + MAX_BATCH),
            lost: AtomicU64::new(0),
        };
        Samples { active: AtomicU32::new(0), slots: std::array::from_fn(|_| slot()), longest }
    }

    /// Begins to sample.
    pub(crate) fn begin(samples: &Arc<Samples>, port: Option<u32>, rate: u32) -> Result<Sampling, TooManySamplings> {
        let free = |s: &Slot| s.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let at = samples.slots.iter().position(free).ok_or(TooManySamplings)?;
        let slot = &samples.slots[at];
        while slot.filled.pop().is_some() {}
        while slot.free.pop().is_some() {}
        for _ in 0..WAITING {
            let sample = Sample {
                bytes: vec![0; samples.longest].into(),
                len: 0,
                ingress_port: 0,
                time_us: 0,
                verdict: Verdict::Drop,
                egress_port: 0,
            };
            // There is room for more.
            let _ = slot.free.push(Box::new(sample));
        }
        slot.port.store(port.unwrap_or(ANY), Ordering::Relaxed);
        slot.rate.store(rate.max(1), Ordering::Relaxed);
        // Any seed but zero will do.
        slot.random.store(std::ptr::from_ref(slot) as u64 ^ u64::from(std::process::id()) << 32 | 1, Ordering::Relaxed);
        slot.skip.store(slot.gap() - 1, Ordering::Relaxed);
        slot.lost.store(0, Ordering::Relaxed);
        slot.on.store(true, Ordering::Release);
        samples.active.fetch_add(1, Ordering::Release);
        Ok(Sampling { samples: samples.clone(), at })
    }

    /// Worker side: whether anybody samples.
    #[inline]
    pub(crate) fn wanted(&self) -> bool {
        self.active.load(Ordering::Relaxed) != 0
    }

    /// Worker side: copies of a batch before it is processed.
    #[cold]
    pub(crate) fn before(&self, batch: &[Packet], time_us: u64, held: &mut Held) {
        for (number, slot) in self.slots.iter().enumerate() {
            if !slot.on.load(Ordering::Acquire) {
                continue;
            }
            if slot.rate.load(Ordering::Relaxed) > 1 {
                slot.take_some(batch.len(), |at| self.copy(number, at, &batch[at], time_us, held));
                continue;
            }
            let port = slot.port.load(Ordering::Relaxed);
            for (at, packet) in batch.iter().enumerate() {
                if port == ANY || port == packet.ingress_port() {
                    self.copy(number, at, packet, time_us, held);
                }
            }
        }
    }

    /// Copies the packet at a place in the batch for a slot.
    fn copy(&self, number: usize, at: usize, packet: &Packet, time_us: u64, held: &mut Held) {
        let (slot, bytes) = (&self.slots[number], packet.bytes());
        let sample = if bytes.len() <= self.longest { slot.free.pop() } else { None };
        let Some(mut sample) = sample else {
            slot.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        sample.bytes[..bytes.len()].copy_from_slice(bytes);
        sample.len = bytes.len();
        sample.ingress_port = packet.ingress_port();
        sample.time_us = time_us;
        held.0.push((number, at, sample));
    }

    /// Worker side: what became of them. The end of the batch that did not run is missing in it.
    #[cold]
    pub(crate) fn after(&self, batch: &[Packet], held: &mut Held) {
        for (number, at, mut sample) in held.0.drain(..) {
            let slot = &self.slots[number];
            // There are fewer buffers than the queues hold.
            let _ = match batch.get(at) {
                Some(packet) => {
                    sample.verdict = packet.verdict();
                    sample.egress_port = packet.egress_port();
                    slot.filled.push(sample)
                }
                None => slot.free.push(sample),
            };
        }
    }
}

/// There are already as many samplings as are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{SLOTS} others look at the switch's packets already")]
pub struct TooManySamplings;

/// Packets of a switch, as long as it lives.
pub struct Sampling {
    samples: Arc<Samples>,
    at: usize,
}

impl Sampling {
    fn slot(&self) -> &Slot {
        &self.samples.slots[self.at]
    }

    /// Hands the next packet to `use_it`; waits for it so long at most.
    pub fn next<R>(&self, timeout: Duration, use_it: impl FnOnce(&Sample) -> R) -> Option<R> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(sample) = self.slot().filled.pop() {
                let result = use_it(&sample);
                // There are fewer buffers than it holds.
                let _ = self.slot().free.push(sample);
                return Some(result);
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Packets there was no room for.
    pub fn lost(&self) -> u64 {
        self.slot().lost.load(Ordering::Relaxed)
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.samples.active.fetch_sub(1, Ordering::Release);
        let slot = self.slot();
        slot.on.store(false, Ordering::Release);
        while slot.filled.pop().is_some() {}
        while slot.free.pop().is_some() {}
        slot.taken.store(false, Ordering::Release);
    }
}

impl fmt::Debug for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampling").field("lost", &self.lost()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FrameSize, Pool};

    /// A round of the worker's: packets of these lengths at port 1 and 2 in turn.
    fn round(samples: &Samples, pool: &mut Pool, held: &mut Held, lengths: &[usize]) {
        let batch: Vec<Packet> = lengths
            .iter()
            .enumerate()
            .map(|(at, len)| {
                let mut packet = pool.take_filled(&vec![at as u8; *len]).unwrap();
                packet.set_ingress_port(1 + at as u32 % 2);
                packet
            })
            .collect();
        assert!(batch.len() <= MAX_BATCH);
        if samples.wanted() {
            samples.before(&batch, 7, held);
            samples.after(&batch, held);
        }
        batch.into_iter().for_each(|p| pool.give(p));
    }

    #[test]
    fn those_who_look_get_what_they_ask_for() {
        let samples = Arc::new(Samples::new(100));
        let mut pool = Pool::new(64, FrameSize::JUMBO).unwrap();
        let mut held = Held::new();
        let next = |s: &Sampling| s.next(Duration::ZERO, |s| (s.ingress_port(), s.bytes().len()));
        round(&samples, &mut pool, &mut held, &[60]);
        let all = Samples::begin(&samples, None, 1).unwrap();
        let some = Samples::begin(&samples, Some(2), 1).unwrap();
        round(&samples, &mut pool, &mut held, &[60, 61, 101, 63]);
        assert_eq!(std::array::from_fn(|_| next(&all)), [Some((1, 60)), Some((2, 61)), Some((2, 63)), None]);
        assert_eq!(std::array::from_fn(|_| next(&some)), [Some((2, 61)), Some((2, 63)), None]);
        // The one that is too long.
        assert_eq!((all.lost(), some.lost()), (1, 0));

        drop(some);
        for _ in 0..WAITING {
            round(&samples, &mut pool, &mut held, &[60, 60]);
        }
        assert_eq!(all.lost(), 1 + WAITING as u64);
        assert_eq!(std::iter::from_fn(|| next(&all)).count(), WAITING);
        round(&samples, &mut pool, &mut held, &[60]);
        assert_eq!(next(&all), Some((1, 60)));
        drop(all);
        assert!(!samples.wanted());

        let many: Vec<Sampling> = (0..SLOTS).map(|_| Samples::begin(&samples, None, 1).unwrap()).collect();
        assert!(Samples::begin(&samples, None, 1).is_err());
        drop(many);
        assert_eq!(next(&Samples::begin(&samples, None, 1).unwrap()), None);
    }

    /// The mean of the gaps is the rate, whatever the batches, and no packet is always or never chosen.
    #[test]
    fn one_in_many_is_taken() {
        for rate in [2, 10, 1000] {
            let samples = Arc::new(Samples::new(100));
            let sampling = Samples::begin(&samples, None, rate).unwrap();
            let (mut taken, mut packets) = (Vec::new(), 0);
            let mut batches = (1..=64).cycle();
            while packets < 10_000 * u64::from(rate) {
                let batch = batches.next().unwrap();
                sampling.slot().take_some(batch as usize, |at| taken.push(packets + at as u64));
                packets += batch;
            }
            let expected = packets as f64 / f64::from(rate);
            // The gaps are uniform: their deviation is below 0.6 of the rate, and five deviations of the sum are allowed.
            let allowed = 5.0 * 0.6 * expected.sqrt();
            assert!((taken.len() as f64 - expected).abs() < allowed, "{rate}: {} of {packets}", taken.len());
            assert!(taken.windows(2).all(|pair| (1..2 * u64::from(rate)).contains(&(pair[1] - pair[0]))));
            let odd = taken.iter().filter(|at| *at % 2 == 1).count() as f64;
            assert!((odd / taken.len() as f64 - 0.5).abs() < 0.1, "{rate}: {odd} of {}", taken.len());
        }
    }
}
