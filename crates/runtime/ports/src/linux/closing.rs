//! Closes in the background what the kernel is slow to close: packet sockets, AF_XDP sockets, XDP programs on devices,
//! and what callers give.
//!
//! Closing one of them waits for an RCU grace period, some ten milliseconds. In sequence, that takes seconds for a
//! hundred devices. On a thread each, all wait for the same grace period.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of threads that close something at the same time. Beyond that, drops close directly.
const MOST: usize = 2048;
/// The stack size of these threads in bytes.
const STACK: usize = 64 << 10;

static CLOSING: Mutex<usize> = Mutex::new(0);
static CLOSED: Condvar = Condvar::new();

static ENDING: AtomicBool = AtomicBool::new(false);

/// Announces the end of the process. From now on, drops only close descriptors and recover no frames.
pub fn end_of_process() {
    ENDING.store(true, Ordering::Release);
}

/// Whether [`end_of_process`] was called.
pub(crate) fn process_ends() -> bool {
    ENDING.load(Ordering::Acquire)
}

/// Runs `work`, which closes something, on a new thread, or directly if no thread can be started.
pub fn in_background(work: impl FnOnce() + Send + 'static) {
    // If the thread cannot be started, its closure is dropped; the shared slot keeps `work` for this thread.
    let work = Arc::new(Mutex::new(Some(work)));
    let of_thread = work.clone();
    if !begin() {
        return run(&work);
    }
    let thread = std::thread::Builder::new().name("closing".into()).stack_size(STACK).spawn(move || {
        run(&of_thread);
        end();
    });
    if thread.is_err() {
        run(&work);
        end();
    }
}

fn run(work: &Mutex<Option<impl FnOnce()>>) {
    let work = lock(work).take();
    if let Some(work) = work {
        work();
    }
}

/// Counts one more operation in progress. Returns false if there are too many.
fn begin() -> bool {
    let mut closing = lock(&CLOSING);
    let free = *closing < MOST;
    *closing += usize::from(free);
    free
}

fn end() {
    *lock(&CLOSING) -= 1;
    CLOSED.notify_all();
}

/// Waits until everything dropped so far is closed, at most for `patience`. Returns whether it is.
pub fn finish(patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    let mut closing = lock(&CLOSING);
    while *closing > 0 {
        let Some(left) = deadline.checked_duration_since(Instant::now()) else { return false };
        closing = CLOSED.wait_timeout(closing, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    true
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A descriptor that is closed in the background when dropped.
#[derive(Debug)]
pub(crate) struct SlowToClose(Option<OwnedFd>);

impl SlowToClose {
    /// Closes the descriptor after `last` was done with it, both in the background.
    pub(crate) fn close_after(&mut self, last: impl FnOnce(&OwnedFd) + Send + 'static) {
        if let Some(descriptor) = self.0.take() {
            in_background(move || last(&descriptor));
        }
    }
}

impl From<OwnedFd> for SlowToClose {
    fn from(descriptor: OwnedFd) -> SlowToClose {
        SlowToClose(Some(descriptor))
    }
}

impl std::ops::Deref for SlowToClose {
    type Target = OwnedFd;

    #[inline]
    fn deref(&self) -> &OwnedFd {
        match &self.0 {
            Some(descriptor) => descriptor,
            None => unreachable!("only taken at the end"),
        }
    }
}

impl Drop for SlowToClose {
    fn drop(&mut self) {
        if let Some(descriptor) = self.0.take() {
            in_background(move || drop(descriptor));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn what_was_dropped_is_closed_when_it_is_finished() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        drop(SlowToClose::from(OwnedFd::from(writer)));
        assert!(finish(PATIENCE));
        // The other end has seen the end of the file.
        assert_eq!(std::io::Read::read(&mut reader, &mut [0]).unwrap(), 0);
    }

    #[test]
    fn many_wait_at_the_same_time() {
        // Each waits until all are there.
        let there = Arc::new((Mutex::new(0), Condvar::new()));
        let all = Arc::new(AtomicBool::new(true));
        for _ in 0..200 {
            let (own, all) = (there.clone(), all.clone());
            in_background(move || {
                *lock(&own.0) += 1;
                own.1.notify_all();
                let waited = own.1.wait_timeout_while(lock(&own.0), PATIENCE, |there| *there < 200);
                if waited.is_ok_and(|(_, late)| late.timed_out()) {
                    all.store(false, Ordering::SeqCst);
                }
            });
            assert!(*lock(&there.0) == 200 || !finish(Duration::ZERO));
        }
        assert!(finish(2 * PATIENCE) && all.load(Ordering::SeqCst));
    }
}
