//! The policer: how many packets and bits a second a tenant may have, over all workers together.
//!
//! A token bucket in the form of the generic cell rate algorithm (ITU-T I.371): one number, the time at which the bucket is
//! full again. Workers share it with a compare-and-swap; nobody waits. It lets through what a
//! [`Meter`](hopwright_ir::meter::Meter) with the same rate and burst does not mark red.

use std::sync::atomic::{AtomicU64, Ordering};

/// A rate and a burst, in packets or in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens a second; zero lets nothing through.
    pub per_second: u64,
    /// Tokens that may come at once: at least a packet of any size that is to get through.
    pub burst: u64,
}

/// Ticks per nanosecond: 64 bits of them last nine years.
const TICKS: u64 = 64;
/// Fractional bits of the ticks of a token.
const FRACTION: u32 = 20;

/// One token bucket.
#[derive(Debug, Default)]
struct Bucket {
    /// Ticks of a token, with [`FRACTION`]; zero: no limit.
    interval: AtomicU64,
    /// Ticks of a full bucket.
    depth: AtomicU64,
    /// When it is full again.
    full_at: AtomicU64,
}

impl Bucket {
    fn set(&self, rate: Option<Rate>) {
        let (interval, depth) = match rate {
            None => (0, 0),
            Some(Rate { per_second: 0, .. }) => (1 << FRACTION, 0),
            Some(Rate { per_second, burst }) => {
                let interval = ((1_000_000_000 * u128::from(TICKS)) << FRACTION) / u128::from(per_second);
                let interval = u64::try_from(interval.max(1)).unwrap_or(u64::MAX);
                (interval, ticks(interval, burst).min(u64::MAX / 4))
            }
        };
        self.depth.store(depth, Ordering::Relaxed);
        self.interval.store(interval, Ordering::Relaxed);
        self.full_at.store(0, Ordering::Relaxed);
    }

    /// Takes tokens, if there are as many.
    #[inline]
    fn take(&self, now: u64, tokens: u64) -> bool {
        let interval = self.interval.load(Ordering::Relaxed);
        if interval == 0 {
            return true;
        }
        let (cost, depth) = (ticks(interval, tokens), self.depth.load(Ordering::Relaxed));
        let mut full_at = self.full_at.load(Ordering::Relaxed);
        loop {
            let next = full_at.max(now).saturating_add(cost);
            if next - now > depth {
                return false;
            }
            match self.full_at.compare_exchange_weak(full_at, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) => full_at = found,
            }
        }
    }

    /// Gives back tokens that were taken.
    fn give_back(&self, tokens: u64) {
        let cost = ticks(self.interval.load(Ordering::Relaxed), tokens);
        let less = |full_at: u64| Some(full_at.saturating_sub(cost));
        let _ = self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

#[inline]
fn ticks(interval: u64, tokens: u64) -> u64 {
    let whole = (u128::from(interval) * u128::from(tokens) + (1 << (FRACTION - 1))) >> FRACTION;
    u64::try_from(whole).unwrap_or(u64::MAX)
}

/// The two buckets of a tenant.
#[derive(Debug, Default)]
pub(crate) struct Policer {
    packets: Bucket,
    bits: Bucket,
}

impl Policer {
    /// Sets or takes away limits, with full buckets. Packets that are measured meanwhile may meet the old or the new.
    pub(crate) fn set(&self, packets: Option<Rate>, bits: Option<Rate>) {
        self.packets.set(packets);
        self.bits.set(bits);
    }

    /// Whether a packet of this many bytes may pass, this many nanoseconds after the switch was made.
    #[inline]
    pub(crate) fn admit(&self, now_ns: u64, bytes: usize) -> bool {
        let now = now_ns.saturating_mul(TICKS);
        if !self.packets.take(now, 1) {
            return false;
        }
        let fits = self.bits.take(now, 8 * bytes as u64);
        if !fits {
            self.packets.give_back(1);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hopwright_ir::meter::{Color, Meter, Rates};
    use proptest::prelude::*;

    use super::*;

    fn rate(per_second: u64, burst: u64) -> Option<Rate> {
        Some(Rate { per_second, burst })
    }

    proptest! {
        /// The same decisions as a meter, packet by packet, where the ticks of a token are a whole number.
        #[test]
        fn it_decides_as_a_meter_does(
            twos in 0u32..10, fives in 0u32..9, burst in 1u64..200,
            packets in prop::collection::vec((0u64..3_000, 1u64..60), 1..300),
        ) {
            let per_second = 2u64.pow(twos) * 5u64.pow(fives);
            let bucket = Bucket::default();
            bucket.set(rate(per_second, burst));
            let mut meter = Meter::new(Rates { cir: per_second, cburst: burst, pir: per_second, pburst: burst });
            let mut now_us = 0;
            for (gap, cost) in packets {
                now_us += gap;
                let expected = meter.execute(now_us, cost) != Color::Red;
                prop_assert_eq!(bucket.take(now_us * 1000 * TICKS, cost), expected, "at {}", now_us);
            }
        }
    }

    /// Twice the allowed load in bursts of 32, at rates from a hundred to a hundred million a second, in simulated time.
    #[test]
    fn rates_are_right_to_three_thousandths() {
        for per_second in [100, 12_345, 999_983, 14_880_952, 97_000_000] {
            for bytes in [64, 333, 1518] {
                let bits = 8 * bytes as u64;
                for limits in [(rate(per_second, 64), None), (None, rate(per_second * bits, 64 * bits))] {
                    let policer = Policer::default();
                    policer.set(limits.0, limits.1);
                    let at = |n: u64| (u128::from(n) * 1_000_000_000 / u128::from(2 * per_second)) as u64;
                    let passed = (0..400_000).filter(|n| policer.admit(at(n / 32 * 32), bytes)).count();
                    assert!((passed as f64 - 200_064.0).abs() < 600.0, "{per_second} of {bytes} bytes: {passed}");
                }
            }
        }
    }

    #[test]
    fn both_limits_hold_and_a_refused_packet_takes_no_tokens() {
        let policer = Policer::default();
        assert!((0..1000).all(|_| policer.admit(0, 9000)), "without limits");
        policer.set(rate(1000, 4), rate(8000, 8 * 1000));
        assert!(policer.admit(0, 900));
        assert!((0..10).all(|_| !policer.admit(0, 200)), "too many bits");
        assert!((0..3).all(|_| policer.admit(0, 10)), "packets are left");
        assert!(!policer.admit(0, 10), "too many packets");
        policer.set(rate(0, 100), None);
        assert!(!policer.admit(1_000_000_000, 64), "nothing at all");
        policer.set(None, None);
        assert!(policer.admit(0, 64));
    }

    #[test]
    fn workers_share_it() {
        let policer = Arc::new(Policer::default());
        policer.set(rate(1_000_000, 100), None);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let policer = policer.clone();
                // A tenth of a second, a microsecond at a time.
                std::thread::spawn(move || (0..100_000u64).filter(|us| policer.admit(us * 1000, 64)).count())
            })
            .collect();
        let passed: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        // A thread that is behind takes tokens of later; it never gets more.
        assert!((100_000..=100_100).contains(&passed), "{passed}");
    }
}
