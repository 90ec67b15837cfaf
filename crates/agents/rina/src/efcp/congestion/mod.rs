//! Congestion control: how many PDUs of a flow may be under way.
//!
//! The [sender](super::sender) finds out what arrived and what is lost; a [`CongestionPolicy`] says what follows for the window. Flow
//! control is not its business: the receiver's credit and the window of the QoS cube bound it in any case. To add one, write its module
//! beside [`dctcp`] and put it into [`POLICIES`]; `each_policy_uses_a_link` in `efcp/mod.rs` runs each over a link with a queue.

mod dctcp;
mod reno;

use std::fmt;
use std::time::Duration;

pub use dctcp::Dctcp;
pub use reno::Reno;

/// The policies. The first one is used if a configuration names none.
pub const POLICIES: [&dyn CongestionPolicy; 2] = [&Dctcp, &Reno];

/// PDUs under way at the beginning.
pub const INITIAL_WINDOW: f64 = 10.0;
/// PDUs under way at least.
pub const LEAST_WINDOW: f64 = 2.0;

/// A way to control congestion.
pub trait CongestionPolicy: fmt::Debug + Sync {
    /// Its name in configurations.
    fn name(&self) -> &'static str;

    /// The state of a new flow, whose window may be `most` PDUs.
    fn begin(&self, most: f64) -> Box<dyn CongestionWindow>;
}

impl PartialEq for dyn CongestionPolicy {
    fn eq(&self, other: &dyn CongestionPolicy) -> bool {
        self.name() == other.name()
    }
}

/// The policy of this name.
pub fn policy(name: &str) -> Option<&'static dyn CongestionPolicy> {
    POLICIES.into_iter().find(|policy| policy.name() == name)
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// PDUs of the sender that are acknowledged for the first time.
    pub newly: f64,
    /// PDUs that the receiver has counted since the acknowledgement before, and those of them with a congestion mark.
    pub received: u32,
    /// See `received`.
    pub marked: u32,
    /// All PDUs with smaller numbers have arrived.
    pub number: u64,
    /// The number of the next PDU that is sent for the first time. A round trip later `number` has reached it.
    pub next: u64,
    /// When the acknowledgement came, by a clock that begins anywhere.
    pub now: Duration,
    /// How long a PDU that it acknowledges was under way, and its acknowledgement, if that PDU was sent once.
    pub round_trip: Option<Duration>,
}

/// The congestion window of a flow.
pub trait CongestionWindow: fmt::Debug + Send {
    /// PDUs that may be under way.
    fn window(&self) -> f64;

    /// An acknowledgement came.
    fn acknowledged(&mut self, it: &Acknowledged);

    /// Some PDUs were lost while others arrived. Called once per round trip.
    fn lost(&mut self);

    /// Nothing was acknowledged for so long that everything counts as lost.
    fn timed_out(&mut self);
}

/// A window with slow start (RFC 5681): it grows by a PDU for each that arrives below a threshold, and by one per round trip above.
#[derive(Debug)]
struct SlowStart {
    window: f64,
    threshold: f64,
    most: f64,
}

impl SlowStart {
    /// The window of a new flow, which may be `most` PDUs.
    fn new(most: f64) -> SlowStart {
        SlowStart { window: INITIAL_WINDOW, threshold: f64::INFINITY, most }
    }

    /// This many PDUs have arrived.
    fn grow(&mut self, newly: f64) {
        let more = if self.window < self.threshold { newly } else { newly / self.window };
        self.window = (self.window + more).min(self.most);
    }

    /// Reduces the window to a part of itself, and ends slow start there.
    fn reduce(&mut self, part: f64) {
        self.window = (self.window * part).max(LEAST_WINDOW);
        self.threshold = self.window;
    }

    /// Begins slow start anew, up to half of the window.
    fn restart(&mut self) {
        self.reduce(0.5);
        self.window = LEAST_WINDOW;
    }
}
