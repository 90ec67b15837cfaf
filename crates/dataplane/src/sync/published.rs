//! A value that the control plane replaces as a whole and workers read without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::sync::quiescence::{Domain, Guard};

/// A value and its domain. A replaced value is dropped once no reader can hold a reference to it.
pub(crate) struct Published<T: Send + Sync + 'static> {
    pointer: AtomicPtr<T>,
    domain: Arc<Domain>,
}

// SAFETY: the type owns the value, which may be used from and dropped on any thread.
unsafe impl<T: Send + Sync> Send for Published<T> {}
// SAFETY: readers get shared references only; the value is Sync.
unsafe impl<T: Send + Sync> Sync for Published<T> {}

impl<T: Send + Sync> Published<T> {
    /// Creates the cell with its first value.
    pub(crate) fn new(value: T, domain: &Arc<Domain>) -> Published<T> {
        Published { pointer: AtomicPtr::new(Box::into_raw(Box::new(value))), domain: domain.clone() }
    }

    /// Replaces the value.
    pub(crate) fn set(&self, value: T) {
        let old = self.pointer.swap(Box::into_raw(Box::new(value)), Ordering::AcqRel);
        // SAFETY: `old` came from Box::into_raw and was just unlinked; readers may still use it, so it is retired.
        self.domain.retire(unsafe { Box::from_raw(old) });
    }

    /// Returns the current value. The guard must belong to this cell's domain.
    #[inline]
    pub(crate) fn get<'g>(&self, _guard: &'g Guard<'_>) -> &'g T {
        // SAFETY: never null; a value unlinked since the guard's reader entered the domain is still alive, and the
        // guard outlives the reference.
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }

    /// Returns the current value to a caller without a guard at hand.
    ///
    /// # Safety
    /// The caller has entered this cell's domain and stays inside as long as it uses the reference.
    #[inline]
    pub(crate) unsafe fn within(&self) -> &T {
        // SAFETY: never null; the caller's guarantee keeps the value alive.
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }
}

impl<T: Send + Sync> Drop for Published<T> {
    fn drop(&mut self) {
        // SAFETY: created by Box::into_raw; exclusive access means no reader is left.
        drop(unsafe { Box::from_raw(*self.pointer.get_mut()) });
    }
}
