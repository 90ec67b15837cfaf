//! A value that the control plane replaces as a whole while workers read it without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::sync::quiescence::{Domain, Guard};

/// The value. What is replaced lives until no reader can have it.
pub(crate) struct Published<T: Send + Sync + 'static> {
    pointer: AtomicPtr<T>,
    domain: Arc<Domain>,
}

// SAFETY: it owns the value, which may be used from and dropped on any thread.
unsafe impl<T: Send + Sync> Send for Published<T> {}
// SAFETY: readers get shared references only; the value is Sync.
unsafe impl<T: Send + Sync> Sync for Published<T> {}

impl<T: Send + Sync> Published<T> {
    /// The first value.
    pub(crate) fn new(value: T, domain: &Arc<Domain>) -> Published<T> {
        Published { pointer: AtomicPtr::new(Box::into_raw(Box::new(value))), domain: domain.clone() }
    }

    /// Replaces the value.
    pub(crate) fn set(&self, value: T) {
        let old = self.pointer.swap(Box::into_raw(Box::new(value)), Ordering::AcqRel);
        // SAFETY: it came from Box::into_raw and was just unlinked; readers may still use it, so it is retired.
        self.domain.retire(unsafe { Box::from_raw(old) });
    }

    /// The current value. The guard must be of the domain this was made with.
    #[inline]
    pub(crate) fn get<'g>(&self, _guard: &'g Guard<'_>) -> &'g T {
        // SAFETY: never null; what was unlinked since the guard's reader entered the domain is still alive, and the
        // guard outlives the reference.
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }

    /// The current value, for callers that are known to be in the domain otherwise.
    ///
    /// # Safety
    /// The caller entered the domain this was made with before and stays in it as long as the reference is used.
    #[inline]
    pub(crate) unsafe fn within(&self) -> &T {
        // SAFETY: never null; the caller's promise keeps it alive.
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }
}

impl<T: Send + Sync> Drop for Published<T> {
    fn drop(&mut self) {
        // SAFETY: made by Box::into_raw; exclusive access means no reader is left.
        drop(unsafe { Box::from_raw(*self.pointer.get_mut()) });
    }
}
