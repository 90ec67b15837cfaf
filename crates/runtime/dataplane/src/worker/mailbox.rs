//! What goes from the control side to workers: changes, which a worker takes up between two rounds. What it gives up comes back, so that
//! the worker never closes a device.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_queue::ArrayQueue;

use crate::worker::attention::Attention;
use crate::worker::classifier::{Classifier, Slot};
use crate::worker::cpu::Signal;
use crate::worker::error::{MAX_CHANGES, MAX_PORT_CHANGES, SwitchError};
use crate::worker::generator::Generator;
use crate::worker::lane::Lane;
use crate::worker::port_queue::PortQueue;

/// A change for a worker to apply between two rounds.
pub(crate) enum Change {
    AddPort(PortQueue),
    RemovePort(u32),
    AddTenant(Box<Lane>),
    RemoveTenant(Slot),
    /// From the next burst on.
    Classify(Arc<Classifier>),
    /// Limits of tenants have changed.
    Limit,
    /// For the first worker.
    Generate(Slot, Box<Generator>),
}

/// What a worker of a tenant or classifier no longer uses, to be dropped by the control side.
pub(crate) enum Retired {
    Lane(Box<Lane>),
    Classifier(#[expect(dead_code, reason = "kept to be dropped by the control side")] Arc<Classifier>),
}

/// One worker as the control side reaches it: changes on their way there, and what comes back.
pub(crate) struct Mailbox {
    changes: ArrayQueue<Change>,
    returned: ArrayQueue<PortQueue>,
    retired: ArrayQueue<Retired>,
    pub attention: Attention,
}

impl Mailbox {
    fn new() -> io::Result<Mailbox> {
        Ok(Mailbox {
            changes: ArrayQueue::new(MAX_CHANGES),
            returned: ArrayQueue::new(MAX_PORT_CHANGES),
            retired: ArrayQueue::new(MAX_CHANGES),
            attention: Attention::new()?,
        })
    }

    /// Sends a change, without waking the worker.
    pub(crate) fn send(&self, change: Change) -> Result<(), SwitchError> {
        self.changes.push(change).map_err(|_| SwitchError::WorkerBehind)
    }

    /// Takes a port that the worker has given back.
    pub(crate) fn next_returned(&self) -> Option<PortQueue> {
        self.returned.pop()
    }

    /// Worker side: the next change, if there is one.
    pub(crate) fn next_change(&self) -> Option<Change> {
        self.changes.pop()
    }

    /// Whether changes wait for the worker.
    #[inline]
    pub(crate) fn changing(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Drops changes that were not taken up, and what was retired. Tenants may keep the mailbox for longer than the switch is there.
    pub(crate) fn clear(&self) {
        while self.changes.pop().is_some() {}
        while self.retired.pop().is_some() {}
    }

    /// Worker side: gives back a port that is no longer used.
    pub(crate) fn give_back(&self, queue: PortQueue) {
        // There is room: the control side takes what came back before it sends a change.
        let _ = self.returned.push(queue);
    }

    /// Worker side: gives back what else is no longer used.
    pub(crate) fn retire(&self, retired: Retired) {
        // As above.
        let _ = self.retired.push(retired);
    }

    /// Takes what a worker has retired.
    pub(crate) fn next_retired(&self) -> Option<Retired> {
        self.retired.pop()
    }
}

/// What the control side shares with all workers.
pub(crate) struct Workers {
    mailboxes: Box<[Mailbox]>,
    /// Raised when a control plane has sent packets to the first worker.
    pub injected: Arc<Signal>,
    /// Held while changes are sent.
    sending: Mutex<()>,
    stop: AtomicBool,
}

impl Workers {
    pub(crate) fn new(count: usize) -> io::Result<Arc<Workers>> {
        let mailboxes = (0..count).map(|_| Mailbox::new()).collect::<io::Result<_>>()?;
        let (injected, sending, stop) = (Signal::new()?, Mutex::new(()), AtomicBool::new(false));
        Ok(Arc::new(Workers { mailboxes, injected, sending, stop }))
    }

    pub(crate) fn count(&self) -> usize {
        self.mailboxes.len()
    }

    /// By number of the worker.
    pub(crate) fn mailboxes(&self) -> &[Mailbox] {
        &self.mailboxes
    }

    /// Wakes all of them.
    pub(crate) fn wake(&self) {
        self.mailboxes.iter().for_each(|worker| worker.attention.wakeup.notify());
    }

    /// Keeps other senders away while the caller sends this many changes, for which there is room.
    pub(crate) fn room(&self, changes: usize) -> Result<MutexGuard<'_, ()>, SwitchError> {
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |worker: &Mailbox| worker.changes.len() + changes > worker.changes.capacity();
        if self.mailboxes.iter().any(full) { Err(SwitchError::WorkerBehind) } else { Ok(sending) }
    }

    /// Sends a change to each worker, for which there is room, and wakes them.
    pub(crate) fn send(&self, change: impl Fn(usize) -> Change) {
        for (index, worker) in self.mailboxes.iter().enumerate() {
            // There is room.
            let _ = worker.changes.push(change(index));
        }
        self.wake();
    }

    /// Sends a change to the first worker, for which there is room.
    pub(crate) fn send_to_first(&self, change: Change) {
        if let Some(worker) = self.mailboxes.first() {
            // There is room.
            let _ = worker.changes.push(change);
            worker.attention.wakeup.notify();
        }
    }

    /// Whether changes wait for one of them.
    pub(crate) fn changing(&self) -> bool {
        self.mailboxes.iter().any(Mailbox::changing)
    }

    /// Makes them return after their round.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
    }

    /// Ends what [`Workers::stop`] did.
    pub(crate) fn resume(&self) {
        self.stop.store(false, Ordering::Release);
    }

    #[inline]
    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}
