//! How the control side wakes a worker, and calls it to the handovers of its tenants.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::worker::error::PATIENCE;
use crate::worker::wait::Wakeup;

/// Time between two looks while the control side waits for a worker.
const LOOK: Duration = Duration::from_micros(50);

/// A worker's attention.
pub(crate) struct Attention {
    pub wakeup: Wakeup,
    /// A tenant's [`Handover`](crate::worker::handover::Handover) has something for the worker.
    called: AtomicBool,
    running: AtomicBool,
}

impl Attention {
    pub(crate) fn new() -> io::Result<Attention> {
        Ok(Attention { wakeup: Wakeup::new()?, called: AtomicBool::new(false), running: AtomicBool::new(false) })
    }

    /// Wakes the worker, which then serves the handovers of its tenants.
    pub(crate) fn call(&self) {
        self.called.store(true, Ordering::Release);
        self.wakeup.notify();
    }

    /// Whether the worker makes rounds.
    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// Worker side: it makes rounds, or no more.
    pub(crate) fn set_running(&self, running: bool) {
        self.running.store(running, Ordering::Release);
    }

    /// Worker side: whether to attend to handovers.
    #[inline]
    pub(crate) fn is_called(&self) -> bool {
        self.called.load(Ordering::Acquire)
    }

    /// Worker side: it attends now. What comes later calls again.
    pub(crate) fn answer(&self) {
        self.called.store(false, Ordering::Release);
    }

    /// Waits until it is done, if the worker runs. False if that takes too long.
    pub(crate) fn wait_until(&self, done: impl Fn() -> bool) -> bool {
        let start = Instant::now();
        while self.is_running() && !done() {
            if start.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }
}
