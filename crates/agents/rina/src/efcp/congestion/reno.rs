//! A window that halves with each loss (RFC 5681), and once in a round trip with marks (RFC 3168): for links that do not mark, or whose
//! marks come late.

use super::{Acknowledged, CongestionPolicy, CongestionWindow, SlowStart};

/// The policy `reno`.
#[derive(Clone, Copy, Debug)]
pub struct Reno;

impl CongestionPolicy for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn begin(&self, most: f64) -> Box<dyn CongestionWindow> {
        Box::new(Window { window: SlowStart::new(most), calm: 0 })
    }
}

#[derive(Debug)]
struct Window {
    window: SlowStart,
    /// Marks of PDUs before this number have been answered.
    calm: u64,
}

impl CongestionWindow for Window {
    fn window(&self) -> f64 {
        self.window.window
    }

    fn acknowledged(&mut self, it: &Acknowledged) {
        if it.marked > 0 && it.number >= self.calm {
            self.calm = it.next;
            self.lost();
            return;
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
