//! Meters: two token buckets and three colours (RFC 2698, colour-blind).

/// Rates of a meter in packets or bytes a second, bursts in packets or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Committed information rate.
    pub cir: u64,
    /// Committed burst.
    pub cburst: u64,
    /// Peak information rate.
    pub pir: u64,
    /// Peak burst.
    pub pburst: u64,
}

/// The colour of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    Green = 0,
    Yellow = 1,
    Red = 2,
}

/// Fractions of a token, so that a microsecond adds as many as the rate has tokens a second.
const PER_TOKEN: u128 = 1_000_000;

/// A meter with rates: tokens are in millionths, both buckets are full at first.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) rates: Rates,
    committed: u128,
    peak: u128,
    last_us: Option<u64>,
}

impl Meter {
    pub(crate) fn new(rates: Rates) -> Meter {
        let full = |burst: u64| u128::from(burst) * PER_TOKEN;
        Meter { rates, committed: full(rates.cburst), peak: full(rates.pburst), last_us: None }
    }

    /// RFC 2698, section 3, for a packet of `size` tokens. A clock that goes back stands still.
    pub(crate) fn measure(&mut self, now_us: u64, size: u64) -> Color {
        let passed = u128::from(now_us.saturating_sub(self.last_us.unwrap_or(now_us)));
        self.last_us = Some(now_us);
        let filled = |tokens: u128, rate: u64, burst: u64| {
            (tokens + passed * u128::from(rate)).min(u128::from(burst) * PER_TOKEN)
        };
        self.committed = filled(self.committed, self.rates.cir, self.rates.cburst);
        self.peak = filled(self.peak, self.rates.pir, self.rates.pburst);
        let size = u128::from(size) * PER_TOKEN;
        if self.peak < size {
            return Color::Red;
        }
        self.peak -= size;
        if self.committed < size {
            return Color::Yellow;
        }
        self.committed -= size;
        Color::Green
    }
}
