//! Prefetches what the lookups of a batch will read.
//!
//! It takes one dependent step after the other for all keys at once, so that the waits for memory overlap.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most keys that are fetched for in one go.
pub(super) const AT_ONCE: usize = 64;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Begins to fetch a line; the address may be anything.
#[inline(always)]
pub(super) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect on the program and does not fault, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Begins to fetch this many lines.
#[inline(always)]
pub(crate) fn prefetch_lines<T>(at: *const T, lines: usize) {
    for line in 0..lines {
        prefetch(at.wrapping_byte_add(LINE * line));
    }
}

/// How many lines the bytes from `before` to `behind` an aligned address take, from the line of an address `at` behind it.
pub(super) fn lines(at: usize, behind: usize) -> usize {
    behind.div_ceil(LINE) - at / LINE
}

/// A table's function for it, with the table it belongs to. Valid as long as the table.
#[derive(Clone, Copy)]
pub(crate) struct Fetcher {
    /// # Safety
    /// `keys` points to that many keys of the table; the caller is in its domain.
    pub fetch: unsafe fn(state: *const c_void, keys: *const u64, count: usize),
    pub state: *const c_void,
    /// About so many bytes lookups may read.
    pub bytes: *const AtomicUsize,
}

impl Fetcher {
    /// About so many bytes lookups may read at present.
    ///
    /// # Safety
    /// The table is alive.
    pub(crate) unsafe fn bytes(&self) -> usize {
        // SAFETY: it points into the table.
        unsafe { &*self.bytes }.load(Ordering::Relaxed)
    }
}
