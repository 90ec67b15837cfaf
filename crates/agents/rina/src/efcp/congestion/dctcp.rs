//! A window that follows the share of marked PDUs, as in DCTCP (RFC 8257), so that queues stay short.

use super::{Acknowledged, CongestionPolicy, CongestionWindow, SlowStart};

/// Weight of a new estimate of the share of marked PDUs (RFC 8257, `g`).
const GAIN: f64 = 1.0 / 16.0;

/// The policy `dctcp`.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp;

impl CongestionPolicy for Dctcp {
    fn name(&self) -> &'static str {
        "dctcp"
    }

    fn begin(&self, most: f64) -> Box<dyn CongestionWindow> {
        Box::new(Window { window: SlowStart::new(most), alpha: 1.0, received: 0, marked: 0, round: 0 })
    }
}

#[derive(Debug)]
struct Window {
    window: SlowStart,
    /// Estimated share of marked PDUs.
    alpha: f64,
    /// PDUs received and marked in this round trip, which ends with the acknowledgement of a number.
    received: u32,
    marked: u32,
    round: u64,
}

impl CongestionWindow for Window {
    fn window(&self) -> f64 {
        self.window.window
    }

    fn acknowledged(&mut self, it: &Acknowledged) {
        self.received = self.received.saturating_add(it.received);
        self.marked = self.marked.saturating_add(it.marked);
        if self.marked > 0 {
            // Slow start ends with the first mark.
            self.window.threshold = self.window.threshold.min(self.window.window);
        }
        if it.number >= self.round && self.received > 0 {
            let (received, marked) = (std::mem::take(&mut self.received), std::mem::take(&mut self.marked));
            self.round = it.next;
            self.alpha += GAIN * (f64::from(marked) / f64::from(received) - self.alpha);
            if marked > 0 {
                self.window.reduce(1.0 - self.alpha / 2.0);
                return;
            }
        }
        self.window.grow(it.newly);
    }

    fn lost(&mut self) {
        self.window.reduce(0.5);
    }

    fn timed_out(&mut self) {
        self.window.restart();
    }
}
