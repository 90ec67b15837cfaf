//! A value that the control plane replaces as a whole and workers read without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::sync::quiescence::{Domain, Inside};

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

    /// Returns the current value. The thread must be inside this cell's domain.
    #[inline]
    pub(crate) fn get<'a>(&'a self, _inside: Inside<'a>) -> &'a T {
        // SAFETY: never null; a value unlinked since the thread entered the domain is still alive, and remains so for `'a`.
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }
}

/// A place for a value, which the control plane sets and workers read without waiting.
pub(crate) struct Slot<T: Send + Sync + 'static>(AtomicPtr<T>);

// SAFETY: the type owns the value, which may be used from and dropped on any thread.
unsafe impl<T: Send + Sync> Send for Slot<T> {}
// SAFETY: readers get shared references only; the value is Sync.
unsafe impl<T: Send + Sync> Sync for Slot<T> {}

impl<T: Send + Sync> Slot<T> {
    /// An empty place.
    pub(crate) fn new() -> Slot<T> {
        Slot(AtomicPtr::default())
    }

    /// Replaces the value. Returns whether there was one, which is dropped once no reader of the domain can hold a reference to it.
    pub(crate) fn set(&self, value: Option<Box<T>>, domain: &Domain) -> bool {
        let old = self.0.swap(value.map_or(std::ptr::null_mut(), Box::into_raw), Ordering::AcqRel);
        if old.is_null() {
            return false;
        }
        // SAFETY: `old` came from Box::into_raw and was just unlinked; readers may still use it, so it is retired.
        domain.retire(unsafe { Box::from_raw(old) });
        true
    }

    /// Returns the value. The thread must be inside the domain of [`Slot::set`].
    #[inline(always)]
    pub(crate) fn get<'a>(&'a self, _inside: Inside<'a>) -> Option<&'a T> {
        // SAFETY: null, or a value that is still alive, as in `Published::get`.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }
}

impl<T: Send + Sync> Drop for Slot<T> {
    fn drop(&mut self) {
        let value = *self.0.get_mut();
        if !value.is_null() {
            // SAFETY: created by Box::into_raw; exclusive access means no reader is left.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

impl<T: Send + Sync> Drop for Published<T> {
    fn drop(&mut self) {
        // SAFETY: created by Box::into_raw; exclusive access means no reader is left.
        drop(unsafe { Box::from_raw(*self.pointer.get_mut()) });
    }
}
