//! Control of a running worker between two rounds: replacing its program, or pausing it while several changes are made that
//! packets must see together.
//!
//! The worker checks one flag per round.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_queue::ArrayQueue;

use crate::executor::Executor;

/// How long a worker may take to end its round.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks whether it has.
const LOOK: Duration = Duration::from_micros(50);

const OPEN: u8 = 0;
const CLOSING: u8 = 1;
const CLOSED: u8 = 2;

/// The worker did not end its round in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the worker did not finish its round within {} seconds", PATIENCE.as_secs())]
pub struct WorkerBusy;

/// What both sides share.
pub(crate) struct Handover {
    /// Something below is for the worker.
    attention: AtomicBool,
    next: ArrayQueue<Executor>,
    returned: ArrayQueue<Executor>,
    gate: AtomicU8,
    running: AtomicBool,
    /// Held by whoever is on the control side.
    control: Mutex<()>,
}

impl Handover {
    pub(crate) fn new() -> Handover {
        Handover {
            attention: AtomicBool::new(false),
            next: ArrayQueue::new(1),
            returned: ArrayQueue::new(2),
            gate: AtomicU8::new(OPEN),
            running: AtomicBool::new(false),
            control: Mutex::new(()),
        }
    }

    /// Hands over an executor and waits until the worker uses it, if it runs. `wake` wakes the worker.
    pub(crate) fn replace(&self, executor: Executor, wake: impl Fn()) -> Result<(), WorkerBusy> {
        let _control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        // One that was never taken up is dropped here.
        drop(self.next.force_push(executor));
        self.attention.store(true, Ordering::Release);
        wake();
        let done = self.wait_until(|| self.next.is_empty());
        while self.returned.pop().is_some() {}
        if done { Ok(()) } else { Err(WorkerBusy) }
    }

    /// Makes the worker wait between two rounds until the result is dropped. If the worker does not run there is
    /// nothing to wait for. `wake` wakes the worker.
    pub(crate) fn stop(&self, wake: impl Fn()) -> Result<Waiting<'_>, WorkerBusy> {
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = Waiting { gate: &self.gate, _control: control };
        self.gate.store(CLOSING, Ordering::Release);
        self.attention.store(true, Ordering::Release);
        wake();
        if !self.wait_until(|| self.gate.load(Ordering::Acquire) == CLOSED) {
            return Err(WorkerBusy);
        }
        Ok(waiting)
    }

    fn wait_until(&self, done: impl Fn() -> bool) -> bool {
        let start = Instant::now();
        while self.running.load(Ordering::Acquire) && !done() {
            if start.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    /// Worker side: it runs, or does no more.
    pub(crate) fn set_running(&self, running: bool) {
        self.running.store(running, Ordering::Release);
    }

    /// Worker side: whether to call [`Handover::attend`].
    #[inline]
    pub(crate) fn calls(&self) -> bool {
        self.attention.load(Ordering::Acquire)
    }

    /// Worker side, between rounds: takes up a new executor, waits if it is to wait.
    pub(crate) fn attend(&self, executor: &mut Executor, stopping: impl Fn() -> bool) {
        self.attention.store(false, Ordering::Release);
        if let Some(next) = self.next.pop() {
            // There is room: the control side empties it each time.
            let _ = self.returned.push(std::mem::replace(executor, next));
        }
        if self.gate.compare_exchange(CLOSING, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            while self.gate.load(Ordering::Acquire) == CLOSED && !stopping() {
                std::thread::yield_now();
            }
        }
    }
}

/// Keeps a worker waiting; lets it go on when dropped.
pub(crate) struct Waiting<'a> {
    gate: &'a AtomicU8,
    _control: MutexGuard<'a, ()>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.gate.store(OPEN, Ordering::Release);
    }
}
