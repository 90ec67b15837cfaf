//! Meters: two token buckets and three colours (RFC 2698, colour-blind). Shared by every executor, so that all agree.
//!
//! The caller passes the time of the packet. Nothing is rounded: buckets hold millionths of a token, so a microsecond adds as
//! many of them as the rate has tokens per second.

/// Configuration of a meter. Rates are in packets or bytes per second, bursts in packets or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Committed rate: above it packets are yellow.
    pub cir: u64,
    /// Committed burst.
    pub cburst: u64,
    /// Peak rate: above it packets are red.
    pub pir: u64,
    /// Peak burst.
    pub pburst: u64,
}

/// v1model's `MeterColor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Color {
    /// Within the committed rate; also the colour of a meter without configuration.
    Green = 0,
    /// Within the peak rate.
    Yellow = 1,
    /// Beyond the peak rate.
    Red = 2,
}

const PER_TOKEN: u128 = 1_000_000;

/// A meter with rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meter {
    rates: Rates,
    /// Millionths of tokens.
    committed: u128,
    peak: u128,
    /// Time of the last update; before the first packet both buckets are full.
    last_us: Option<u64>,
}

impl Meter {
    /// A meter with full buckets.
    pub fn new(rates: Rates) -> Meter {
        let full = |burst: u64| u128::from(burst) * PER_TOKEN;
        Meter { rates, committed: full(rates.cburst), peak: full(rates.pburst), last_us: None }
    }

    /// Its rates.
    pub fn rates(&self) -> Rates {
        self.rates
    }

    /// The colour that [`Meter::execute`] would return.
    pub fn color(&self, now_us: u64, cost: u64) -> Color {
        self.clone().execute(now_us, cost)
    }

    /// Meters a packet of a number of tokens at a time in microseconds. A time before that of the last packet counts as the
    /// same time.
    pub fn execute(&mut self, now_us: u64, cost: u64) -> Color {
        let passed = u128::from(now_us.saturating_sub(self.last_us.unwrap_or(now_us)));
        self.last_us = Some(now_us);
        // Below 2^128: 64 by 64 bits, and a burst with its factor has 84.
        let fill = |tokens: u128, rate: u64, burst: u64| {
            (passed * u128::from(rate)).saturating_add(tokens).min(u128::from(burst) * PER_TOKEN)
        };
        self.committed = fill(self.committed, self.rates.cir, self.rates.cburst);
        self.peak = fill(self.peak, self.rates.pir, self.rates.pburst);
        let cost = u128::from(cost) * PER_TOKEN;
        if self.peak < cost {
            return Color::Red;
        }
        self.peak -= cost;
        if self.committed < cost {
            return Color::Yellow;
        }
        self.committed -= cost;
        Color::Green
    }
}

#[cfg(test)]
mod tests {
    use super::{Color, Meter, Rates};
    use crate::hash::Random;

    fn colors(rates: Rates, packets: &[(u64, u64)]) -> Vec<Color> {
        let mut meter = Meter::new(rates);
        packets.iter().map(|&(at, cost)| meter.execute(at, cost)).collect()
    }

    #[test]
    fn bursts_pass_and_then_the_rates_decide() {
        use Color::{Green as G, Red as R, Yellow as Y};
        let rates = Rates { cir: 1_000, cburst: 2, pir: 2_000, pburst: 4 };
        let at_once = [(5, 1); 6];
        assert_eq!(colors(rates, &at_once), [G, G, Y, Y, R, R]);
        // Half a millisecond fills the peak bucket by one, a whole one the committed bucket, too.
        let later: Vec<_> =
            [(0, 1); 4].into_iter().chain([(499, 1), (500, 1), (999, 1), (1000, 1), (9000, 1)]).collect();
        assert_eq!(colors(rates, &later), [G, G, Y, Y, R, Y, R, G, G]);
        // A clock that goes back stops time, but not for good.
        assert_eq!(colors(rates, &[(9000, 2), (0, 2), (0, 1), (1000, 1)]), [G, Y, R, G]);
    }

    #[test]
    fn a_meter_of_nothing_is_red_and_extremes_do_not_overflow() {
        assert_eq!(colors(Rates::default(), &[(0, 1), (0, 0)]), [Color::Red, Color::Green]);
        let all = Rates { cir: u64::MAX, cburst: u64::MAX, pir: u64::MAX, pburst: u64::MAX };
        assert_eq!(colors(all, &[(0, u64::MAX), (u64::MAX, u64::MAX)]), [Color::Green, Color::Green]);
    }

    /// What passes in any stretch of time is bounded by burst and rate, and the first packet finds full buckets.
    #[test]
    fn what_passes_is_what_the_buckets_allow() {
        let mut random = Random::new(7);
        let mut below = |n: u64| random.next_u64() % n;
        for _ in 0..200 {
            let cir = below(5_000);
            let rates = Rates { cir, cburst: below(2_000), pir: cir + below(5_000), pburst: below(3_000) };
            let mut meter = Meter::new(rates);
            let mut now = 0;
            let mut log: Vec<(u64, u64, Color)> = Vec::new();
            for _ in 0..60 {
                now += below(400_000);
                let cost = 1 + below(1_500);
                log.push((now, cost, meter.execute(now, cost)));
            }
            for first in 0..log.len() {
                let (mut green, mut passed) = (0, 0);
                for &(at, cost, color) in &log[first..] {
                    green += if color == Color::Green { cost } else { 0 };
                    passed += if color == Color::Red { 0 } else { cost };
                    let bound = |rate: u64, burst: u64| burst * 1_000_000 + (at - log[first].0) * rate;
                    assert!(green * 1_000_000 <= bound(rates.cir, rates.cburst), "{rates:?} {log:?}");
                    assert!(passed * 1_000_000 <= bound(rates.pir, rates.pburst), "{rates:?} {log:?}");
                }
            }
            let (_, cost, color) = log[0];
            let expected = match () {
                () if cost > rates.pburst => Color::Red,
                () if cost > rates.cburst => Color::Yellow,
                () => Color::Green,
            };
            assert_eq!(color, expected, "{rates:?} {cost}");
        }
    }
}
