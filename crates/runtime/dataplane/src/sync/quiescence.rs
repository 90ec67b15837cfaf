//! Quiescent-state-based memory reclamation (QSBR) for a few readers.
//!
//! A reader is *inside* its domain while it runs a batch, and *quiescent* between batches. It announces the epoch in
//! which it entered, which costs one fence per batch. Memory that a writer has unlinked is freed by a writer, once
//! every reader has been quiescent since the unlinking. General epoch libraries free memory on whichever thread pins
//! next; here workers never run a destructor.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

const QUIESCENT: u64 = 0;

type Announcement = Arc<CachePadded<AtomicU64>>;

trait Garbage: Send {}

impl<T: Send> Garbage for T {}

#[derive(Default)]
struct Retired {
    readers: Vec<Announcement>,
    waiting: Vec<(u64, Box<dyn Garbage>)>,
}

/// Readers and the memory they protect. Each virtual data plane has one domain.
pub struct Domain {
    epoch: AtomicU64,
    retired: Mutex<Retired>,
}

impl Default for Domain {
    fn default() -> Self {
        Domain { epoch: AtomicU64::new(1), retired: Mutex::default() }
    }
}

impl Domain {
    /// Creates a domain without readers.
    pub fn new() -> Arc<Domain> {
        Arc::default()
    }

    /// Registers a reader.
    pub fn reader(self: &Arc<Self>) -> Reader {
        let announcement: Announcement = Arc::new(CachePadded::new(AtomicU64::new(QUIESCENT)));
        self.lock().readers.push(announcement.clone());
        Reader { domain: self.clone(), announcement }
    }

    /// Takes over memory that has just been unlinked: new readers cannot find it, but current ones may still use it. It
    /// is dropped by this call or a later one, once no reader can have it. For writers; never blocks on readers.
    pub fn retire(&self, garbage: impl Send + 'static) {
        // Pairs with the fence in `Reader::enter`: either `take_free` sees that reader's announcement, or the reader
        // sees the unlinking.
        fence(Ordering::SeqCst);
        let mut retired = self.lock();
        let tag = self.epoch.fetch_add(1, Ordering::AcqRel);
        retired.waiting.push((tag, Box::new(garbage)));
        let freed = take_free(&mut retired);
        drop(retired);
        drop(freed);
    }

    /// Drops all retired memory that no reader can have. Returns the number of items that remain.
    pub fn collect(&self) -> usize {
        fence(Ordering::SeqCst);
        let mut retired = self.lock();
        let freed = take_free(&mut retired);
        let left = retired.waiting.len();
        drop(retired);
        drop(freed);
        left
    }

    /// Waits until all retired memory is dropped, at most for `timeout`; returns whether it is. For data that must not
    /// linger, such as keys. Readers stay inside for microseconds.
    pub fn settle(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        while self.collect() > 0 {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Retired> {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take_free(retired: &mut Retired) -> Vec<Box<dyn Garbage>> {
    let Retired { readers, waiting } = retired;
    let oldest =
        readers.iter().map(|r| r.load(Ordering::Acquire)).filter(|e| *e != QUIESCENT).min().unwrap_or(u64::MAX);
    // Tags are in ascending order.
    let free = waiting.partition_point(|(tag, _)| *tag < oldest);
    waiting.drain(..free).map(|(_, garbage)| garbage).collect()
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let retired = self.lock();
        f.debug_struct("Domain")
            .field("readers", &retired.readers.len())
            .field("waiting", &retired.waiting.len())
            .finish_non_exhaustive()
    }
}

/// A reader of a domain, owned by one thread. It is quiescent unless it holds a guard from [`Reader::enter`].
#[derive(Debug)]
pub struct Reader {
    domain: Arc<Domain>,
    announcement: Announcement,
}

impl Reader {
    /// Returns whether the reader belongs to this domain.
    pub fn is_of(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }

    /// Enters the domain: nothing that the reader can find from now on is freed until the guard is dropped. Wait-free,
    /// one fence.
    #[inline]
    pub fn enter(&mut self) -> Guard<'_> {
        let epoch = self.domain.epoch.load(Ordering::Acquire);
        self.announcement.store(epoch, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        Guard { announcement: &self.announcement }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.domain.lock().readers.retain(|r| !Arc::ptr_eq(r, &self.announcement));
    }
}

/// Keeps everything that its reader can find alive.
#[derive(Debug)]
pub struct Guard<'a> {
    announcement: &'a AtomicU64,
}

impl Guard<'_> {
    /// The thread is inside the domain for as long as the guard is borrowed.
    pub(crate) fn inside(&self) -> Inside<'_> {
        Inside(PhantomData)
    }
}

/// Says that the thread is inside a domain, that of what it is used with, for a time.
#[derive(Clone, Copy)]
pub(crate) struct Inside<'a>(PhantomData<&'a *const ()>);

impl<'a> Inside<'a> {
    /// # Safety
    /// The thread is inside the domain for the time `'a`.
    pub(crate) unsafe fn assume() -> Inside<'a> {
        Inside(PhantomData)
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.announcement.store(QUIESCENT, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Canary(Arc<AtomicU64>);

    impl Drop for Canary {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn frees_only_what_no_reader_can_have() {
        let domain = Domain::new();
        let dropped = Arc::new(AtomicU64::new(0));
        let mut reader = domain.reader();
        let mut other = domain.reader();

        let guard = reader.enter();
        domain.retire(Canary(dropped.clone()));
        assert_eq!(dropped.load(Ordering::SeqCst), 0);
        // A reader that entered later cannot have it and does not delay it.
        let late = other.enter();
        drop(guard);
        assert_eq!(domain.collect(), 0);
        assert_eq!(dropped.load(Ordering::SeqCst), 1);

        domain.retire(Canary(dropped.clone()));
        assert_eq!(domain.collect(), 1, "the late reader may have this one");
        assert!(!domain.settle(Duration::from_millis(1)));
        drop(late);
        assert!(domain.settle(Duration::from_millis(1)));
        assert_eq!(dropped.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_reader_that_is_gone_holds_nothing_back() {
        let domain = Domain::new();
        let dropped = Arc::new(AtomicU64::new(0));
        drop(domain.reader());
        domain.retire(Canary(dropped.clone()));
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
    }
}
