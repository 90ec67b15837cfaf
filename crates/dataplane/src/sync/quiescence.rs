//! Quiescence-based memory reclamation for few readers.
//!
//! A reader announces itself once per batch. Unlinked memory is freed, by a writer, when every reader has been quiescent
//! since. A general epoch library would free memory on whichever thread pins next, and a worker must never run a destructor
//! in the middle of a batch.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

const QUIET: u64 = 0;

type Announcement = Arc<CachePadded<AtomicU64>>;

trait Garbage: Send {}

impl<T: Send> Garbage for T {}

#[derive(Default)]
struct Retired {
    readers: Vec<Announcement>,
    waiting: Vec<(u64, Box<dyn Garbage>)>,
}

/// Readers and garbage that belong together: those of one virtual data plane.
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
    /// A domain without readers.
    pub fn new() -> Arc<Domain> {
        Arc::default()
    }

    /// Registers a reader.
    pub fn reader(self: &Arc<Self>) -> Reader {
        let announcement: Announcement = Arc::new(CachePadded::new(AtomicU64::new(QUIET)));
        self.lock().readers.push(announcement.clone());
        Reader { domain: self.clone(), announcement }
    }

    /// Hands over what readers may still see but can no longer find: to be called after it was unlinked. It is
    /// dropped here, or by a later call, once no reader can have it.
    pub fn retire(&self, garbage: impl Send + 'static) {
        // Pairs with the fence in `Reader::enter`: either that reader's announcement is seen by `free` below, or the
        // reader sees the unlinking.
        fence(Ordering::SeqCst);
        let mut retired = self.lock();
        let tag = self.epoch.fetch_add(1, Ordering::AcqRel);
        retired.waiting.push((tag, Box::new(garbage)));
        let freed = take_free(&mut retired);
        drop(retired);
        drop(freed);
    }

    /// Frees what can be freed. Returns how much still waits.
    pub fn collect(&self) -> usize {
        fence(Ordering::SeqCst);
        let mut retired = self.lock();
        let freed = take_free(&mut retired);
        let left = retired.waiting.len();
        drop(retired);
        drop(freed);
        left
    }

    /// Waits until everything retired is freed, so long at most: for what must not linger, such as keys. A reader
    /// stays in a batch for microseconds.
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
    let oldest = readers.iter().map(|r| r.load(Ordering::Acquire)).filter(|e| *e != QUIET).min().unwrap_or(u64::MAX);
    // Tags grow along the list.
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

/// One reader of a domain; quiet unless within [`Reader::enter`].
#[derive(Debug)]
pub struct Reader {
    domain: Arc<Domain>,
    announcement: Announcement,
}

impl Reader {
    /// Whether it reads what this domain protects.
    pub fn is_of(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }

    /// From here until the guard is dropped nothing that can be found is freed. Costs one fence; wait-free.
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

/// Keeps what its reader can find alive.
#[derive(Debug)]
pub struct Guard<'a> {
    announcement: &'a AtomicU64,
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.announcement.store(QUIET, Ordering::Release);
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
        // A reader that came later cannot have it and does not hold it back.
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
