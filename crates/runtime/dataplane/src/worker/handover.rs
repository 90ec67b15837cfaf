//! Control of a tenant on a running worker between two rounds: replacing its program, or pausing it while several changes
//! are made that its packets must see together.
//!
//! The worker checks one flag per round, [`Attention::is_called`].

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_queue::ArrayQueue;

use crate::executor::Executor;
use crate::worker::attention::Attention;
use crate::worker::error::WorkerBusy;

const OPEN: u8 = 0;
const CLOSING: u8 = 1;
const CLOSED: u8 = 2;

/// What a tenant's control side and one worker share.
pub(crate) struct Handover {
    next: ArrayQueue<Executor>,
    returned: ArrayQueue<Executor>,
    gate: AtomicU8,
    /// Held by whoever is on the control side.
    control: Mutex<()>,
}

impl Handover {
    pub(crate) fn new() -> Handover {
        Handover {
            next: ArrayQueue::new(1),
            returned: ArrayQueue::new(2),
            gate: AtomicU8::new(OPEN),
            control: Mutex::new(()),
        }
    }

    /// Hands over an executor and waits until the worker uses it, if it runs, or the tenant is gone.
    pub(crate) fn replace(
        &self,
        executor: Executor,
        worker: &Attention,
        gone: impl Fn() -> bool,
    ) -> Result<(), WorkerBusy> {
        let _control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        // One that was never taken up is dropped here.
        drop(self.next.force_push(executor));
        worker.call();
        let done = worker.wait_until(|| self.next.is_empty() || gone());
        while self.returned.pop().is_some() {}
        if done { Ok(()) } else { Err(WorkerBusy) }
    }

    /// Keeps the worker from running the tenant's packets until the result is dropped. If the worker does not run there
    /// is nothing to wait for, nor if the tenant is gone.
    pub(crate) fn pause(&self, worker: &Attention, gone: impl Fn() -> bool) -> Result<Waiting<'_>, WorkerBusy> {
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = Waiting { gate: &self.gate, _control: control };
        self.gate.store(CLOSING, Ordering::Release);
        worker.call();
        if !worker.wait_until(|| self.gate.load(Ordering::Acquire) == CLOSED || gone()) {
            return Err(WorkerBusy);
        }
        Ok(waiting)
    }

    /// Worker side, between rounds: takes up a new executor. True if the tenant is to be paused from now on.
    pub(crate) fn take_up(&self, executor: &mut Executor) -> bool {
        if let Some(next) = self.next.pop() {
            // There is room: the control side empties it each time.
            let _ = self.returned.push(std::mem::replace(executor, next));
        }
        self.gate.compare_exchange(CLOSING, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Worker side: whether the tenant is still to be paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.gate.load(Ordering::Acquire) == CLOSED
    }
}

/// Keeps a tenant paused on a worker until dropped.
pub(crate) struct Waiting<'a> {
    gate: &'a AtomicU8,
    _control: MutexGuard<'a, ()>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.gate.store(OPEN, Ordering::Release);
    }
}
