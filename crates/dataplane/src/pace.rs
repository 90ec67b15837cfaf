//! When a worker looks for packets again: at once under load; after a short rest when few come, so that they come in
//! batches, which cost less each; when none come, as soon as there is one.
//!
//! Does not live here: the sleeping itself ([`crate::wait`]).

use std::time::Duration;

/// Empty rounds before a worker sleeps.
const SPINS: u32 = 16;
/// Packets of a round that make it worth its cost.
const ENOUGH: usize = 64;
/// The shortest rest; a shorter one costs more than it saves.
const SHORTEST: Duration = Duration::from_micros(20);

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

/// How a worker takes its turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    longest: Duration,
    enough: usize,
    rest: Duration,
    idle: u32,
}

impl Pace {
    /// Rests so long at most; zero: never. `batch`: packets that a round takes from one port at most.
    pub fn new(longest: Duration, batch: usize) -> Pace {
        Pace { longest, enough: ENOUGH.min(batch), rest: Duration::ZERO, idle: 0 }
    }

    /// After a round that took in so many packets.
    pub fn next(&mut self, packets: usize) -> Next {
        if packets == 0 {
            self.idle += 1;
            if self.idle < SPINS {
                return Next::Now;
            }
            self.rest = Duration::ZERO;
            return Next::Sleep;
        }
        self.idle = 0;
        self.rest = if packets >= self.enough {
            Some(self.rest / 2).filter(|rest| *rest >= SHORTEST).unwrap_or_default()
        } else {
            (self.rest * 2).max(SHORTEST).min(self.longest)
        };
        if self.rest.is_zero() { Next::Now } else { Next::Rest(self.rest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_micros(100);

    #[test]
    fn a_burst_is_met_at_once_and_a_load_is_never_kept_waiting() {
        let mut pace = Pace::new(LONGEST, 256);
        let mut small = Pace::new(LONGEST, 1);
        for _ in 0..100 {
            assert_eq!(pace.next(256), Next::Now);
            assert_eq!(small.next(1), Next::Now);
        }
    }

    #[test]
    fn few_packets_are_gathered_and_more_shorten_the_rest() {
        let mut pace = Pace::new(LONGEST, 256);
        let rests: Vec<_> = (0..5).map(|_| pace.next(1)).collect();
        let us = |us| Next::Rest(Duration::from_micros(us));
        assert_eq!(rests, [us(20), us(40), us(80), us(100), us(100)]);
        assert_eq!([pace.next(64), pace.next(64), pace.next(64)], [us(50), us(25), Next::Now]);
    }

    #[test]
    fn without_packets_it_sleeps_soon_and_does_not_rest_first() {
        let mut pace = Pace::new(LONGEST, 256);
        pace.next(1);
        assert!((1..SPINS).all(|_| pace.next(0) == Next::Now));
        assert_eq!(pace.next(0), Next::Sleep);
        assert_eq!(pace.next(0), Next::Sleep);
        assert_eq!(pace.next(1), Next::Rest(SHORTEST));
        let mut never = Pace::new(Duration::ZERO, 256);
        assert_eq!(never.next(1), Next::Now);
    }
}
