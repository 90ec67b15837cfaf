//! Poll back-off: when a worker polls its ports again.
//!
//! Under load it polls again at once. Without packets it sleeps until one arrives. In between it may rest for some
//! microseconds, because larger batches cost less per packet. Unless a longest rest is configured, a worker rests only above
//! [`FREQUENT`] packets a second, which is more than a router forwards that takes packets one by one.

use std::time::{Duration, Instant};

/// Packets of a round that make it worth its cost.
const ENOUGH: usize = 96;
/// The shortest rest; a shorter one costs more than it saves.
const SHORTEST: Duration = Duration::from_micros(20);
/// The window over which the packet rate is measured.
const WINDOW: Duration = Duration::from_millis(2);
/// Without a configured longest rest a worker rests from this many packets a second on, and for this many seconds per
/// packet a second, until batches are large enough.
const FREQUENT: f64 = 160_000.0;
const LONGER: f64 = 1e-9;
/// Empty polls before a worker sleeps, and least rounds of them.
const LOOKS: usize = 16;
const ROUNDS: usize = 2;

/// What to do before the next round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Go on.
    Now,
    /// Rest so long.
    Rest(Duration),
    /// Sleep until something comes.
    Sleep,
}

/// The state of a worker's back-off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PollBackoff {
    /// `None`: rest only above [`FREQUENT`].
    longest: Option<Duration>,
    enough: usize,
    /// Packets a second.
    rate: f64,
    /// Packets since then.
    counted: usize,
    since: Instant,
    /// Empty rounds before it sleeps.
    spins: usize,
    idle: usize,
}

impl PollBackoff {
    /// `longest`: the longest rest; zero: never rest; `None`: rest only above [`FREQUENT`] packets a second. `batch`: most
    /// packets that a round takes from one port.
    pub(crate) fn new(longest: Option<Duration>, batch: usize) -> PollBackoff {
        let (enough, since) = (ENOUGH.min(batch), Instant::now());
        PollBackoff { longest, enough, rate: 0.0, counted: 0, since, spins: LOOKS, idle: 0 }
    }

    /// Sets the number of ports that a round polls.
    pub(crate) fn set_ports(&mut self, count: usize) {
        self.spins = (LOOKS / count.max(1)).max(ROUNDS);
    }

    /// What to do after a round that received this many packets.
    pub(crate) fn next(&mut self, packets: usize, now: impl FnOnce() -> Instant) -> Next {
        if packets == 0 {
            self.idle += 1;
            return if self.idle < self.spins { Next::Now } else { Next::Sleep };
        }
        self.idle = 0;
        if self.longest == Some(Duration::ZERO) {
            return Next::Now;
        }
        self.count(packets, now());
        if packets >= self.enough {
            return Next::Now;
        }
        let rest = self.rest();
        if rest < SHORTEST { Next::Now } else { Next::Rest(rest) }
    }

    fn count(&mut self, packets: usize, now: Instant) {
        self.counted += packets;
        let elapsed = now.saturating_duration_since(self.since);
        if elapsed >= WINDOW {
            self.rate = self.counted as f64 / elapsed.as_secs_f64();
            (self.counted, self.since) = (0, now);
        }
    }

    /// How long to rest: until two thirds of a worthwhile batch have come, as more come while these are processed.
    fn rest(&self) -> Duration {
        let longest = match self.longest {
            Some(longest) => longest.as_secs_f64(),
            None if self.rate >= FREQUENT => self.rate * LONGER,
            None => return Duration::ZERO,
        };
        let rest = longest.min(2.0 / 3.0 * self.enough as f64 / self.rate);
        // A rest in which fewer than two packets come gains nothing.
        if self.rate * rest < 2.0 { Duration::ZERO } else { Duration::from_secs_f64(rest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets that come one after the other at a rate, and a worker that rests and takes what has come.
    fn follow(longest: Option<Duration>, batch: usize, rate: u32) -> Vec<Next> {
        let mut backoff = PollBackoff::new(longest, batch);
        let (gap, mut now, mut taken) = (Duration::from_secs(1) / rate, Instant::now(), 0);
        let start = now;
        let mut results = Vec::new();
        while now - start < Duration::from_millis(200) {
            let come = ((now - start).as_nanos() / gap.as_nanos()) as usize;
            let next = backoff.next((come - taken).min(batch), || now);
            taken = come;
            now += match next {
                Next::Now => gap,
                Next::Rest(time) => time,
                Next::Sleep => panic!("packets come"),
            };
            // By then it has found out the rate.
            if now - start > Duration::from_millis(100) {
                results.push(next);
            }
        }
        results
    }

    #[test]
    fn a_load_that_wakes_it_for_each_packet_is_never_kept_waiting() {
        for rate in [100, 1000, 20_000, 60_000, 100_000, 150_000] {
            assert!(follow(None, 256, rate).iter().all(|next| *next == Next::Now), "{rate}");
        }
    }

    #[test]
    fn frequent_packets_are_gathered() {
        for (rate, rest) in [(170_000, 170), (200_000, 200), (480_000, 133), (960_000, 67)] {
            for next in follow(None, 256, rate) {
                let Next::Rest(time) = next else { panic!("{rate}: {next:?}") };
                assert!(
                    time.abs_diff(Duration::from_micros(rest)) < Duration::from_micros(rest / 10),
                    "{rate}: {time:?}"
                );
            }
        }
    }

    #[test]
    fn who_may_rest_does_if_two_packets_come_meanwhile() {
        let most = Duration::from_micros(100);
        assert!(follow(Some(most), 256, 25_000).contains(&Next::Rest(most)));
        assert!(!follow(Some(most), 256, 15_000).contains(&Next::Rest(most)));
        for (longest, batch, rate) in
            [(Some(Duration::ZERO), 256, 200_000), (None, 1, 200_000), (None, 256, 10_000_000)]
        {
            assert!(follow(longest, batch, rate).iter().all(|next| *next == Next::Now), "{rate}");
        }
    }

    #[test]
    fn a_full_round_is_followed_at_once() {
        let mut backoff = PollBackoff::new(Some(Duration::from_micros(250)), 256);
        let start = Instant::now();
        for round in 0..100 {
            assert_eq!(backoff.next(96, || start + round * Duration::from_millis(1)), Next::Now);
        }
        assert_ne!(backoff.next(95, || start + Duration::from_millis(101)), Next::Now);
    }

    #[test]
    fn without_packets_it_sleeps_soon_and_sooner_with_many_ports() {
        for (ports, spins) in [(1, 16), (3, 5), (100, 2)] {
            let mut backoff = PollBackoff::new(None, 256);
            backoff.set_ports(ports);
            backoff.next(1, Instant::now);
            for _ in 1..spins {
                assert_eq!(backoff.next(0, Instant::now), Next::Now);
            }
            assert_eq!(backoff.next(0, Instant::now), Next::Sleep);
            assert_eq!(backoff.next(0, Instant::now), Next::Sleep);
            assert_eq!(backoff.next(1, Instant::now), Next::Now);
        }
    }
}
