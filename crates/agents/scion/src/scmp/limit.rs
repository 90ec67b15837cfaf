//! Rate limits for answers to punted packets: one token bucket for each reason and interface, so that bad packets cost
//! little CPU time and packets of one neighbour do not use up another's share.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// `[scmp]` of `hopwright.toml`: the limit for each reason and each interface. Interface 0 is the inside of the AS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// Sustained rate in packets per second.
    pub rate: u32,
    /// Maximum burst in packets.
    pub burst: u32,
}

impl Default for Limit {
    fn default() -> Limit {
        Limit { rate: 1000, burst: 1000 }
    }
}

/// A token bucket. Its fill level is measured in nanoseconds of refilling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    ns: u64,
    filled: Instant,
}

impl Bucket {
    /// A full bucket for `rate` tokens per second and `burst` at once.
    pub(crate) fn full(rate: u32, burst: u32, now: Instant) -> Bucket {
        Bucket { ns: ns_per_token(rate) * u64::from(burst), filled: now }
    }

    /// Takes a token. Returns false if there is none.
    pub(crate) fn take(&mut self, rate: u32, burst: u32, now: Instant) -> bool {
        let each = ns_per_token(rate);
        let passed = now.saturating_duration_since(self.filled).min(Duration::from_secs(1 << 33));
        self.ns = self.ns.saturating_add(passed.as_nanos() as u64).min(each * u64::from(burst));
        self.filled = self.filled.max(now);
        let admitted = self.ns >= each;
        if admitted {
            self.ns -= each;
        }
        admitted
    }
}

/// The time in which a bucket gets a token; `rate` is not 0.
fn ns_per_token(rate: u32) -> u64 {
    (1_000_000_000 / u64::from(rate.max(1))).max(1)
}

/// The buckets in use. Their number is bounded, because reasons and interfaces come from the program's tables.
#[derive(Debug)]
pub(super) struct Limiter {
    limit: Limit,
    buckets: HashMap<(u8, u16), Bucket>,
}

impl Limiter {
    pub(super) fn new(limit: Limit) -> Limiter {
        Limiter { limit, buckets: HashMap::new() }
    }

    pub(super) fn set(&mut self, limit: Limit) {
        if limit != self.limit {
            *self = Limiter::new(limit);
        }
    }

    /// Takes a token for a packet. Returns false if there is none.
    pub(super) fn admit(&mut self, reason: u8, interface: u16, now: Instant) -> bool {
        let Limit { rate, burst } = self.limit;
        let full = || Bucket::full(rate, burst, now);
        rate > 0 && self.buckets.entry((reason, interface)).or_insert_with(full).take(rate, burst, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(limiter: &mut Limiter, interface: u16, now: Instant) -> usize {
        (0..10_000).take_while(|_| limiter.admit(67, interface, now)).count()
    }

    #[test]
    fn burst_then_rate() {
        let mut limiter = Limiter::new(Limit { rate: 100, burst: 20 });
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        assert_eq!(admitted(&mut limiter, 1, start), 20);
        assert_eq!(admitted(&mut limiter, 1, after(9)), 0);
        assert_eq!(admitted(&mut limiter, 1, after(10)), 1);
        assert_eq!(admitted(&mut limiter, 1, after(60)), 5);
        // A pause fills the bucket up to its capacity. Time going backwards adds nothing.
        assert_eq!(admitted(&mut limiter, 1, after(100_000)), 20);
        assert_eq!(admitted(&mut limiter, 1, start), 0);
    }

    #[test]
    fn each_reason_and_interface_has_its_own() {
        let mut limiter = Limiter::new(Limit { rate: 1, burst: 1 });
        let now = Instant::now();
        assert_eq!(admitted(&mut limiter, 1, now), 1);
        assert_eq!(admitted(&mut limiter, 2, now), 1);
        assert!(limiter.admit(68, 1, now) && !limiter.admit(68, 1, now));
    }

    #[test]
    fn extremes() {
        let now = Instant::now();
        assert_eq!(admitted(&mut Limiter::new(Limit { rate: 0, burst: 100 }), 1, now), 0);
        assert_eq!(admitted(&mut Limiter::new(Limit { rate: 100, burst: 0 }), 1, now), 0);
        assert_eq!(admitted(&mut Limiter::new(Limit { rate: u32::MAX, burst: u32::MAX }), 1, now), 10_000);
    }
}
