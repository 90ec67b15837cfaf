//! Prefetching for the lookups of a batch.
//!
//! Each dependent step of a lookup is done for all keys before the next step, so that the cache misses overlap.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of keys whose lookups overlap.
pub(super) const AT_ONCE: usize = 64;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Prefetches the cache line of an address. Any address is allowed.
#[inline(always)]
pub fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect on the program and does not fault, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{at}]", at = in(reg) at, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

/// Prefetches `lines` consecutive cache lines.
#[inline(always)]
pub(crate) fn prefetch_lines<T>(at: *const T, lines: usize) {
    for line in 0..lines {
        prefetch(at.wrapping_byte_add(LINE * line));
    }
}

/// Returns the number of cache lines from the line that contains offset `at` up to offset `behind` (exclusive), both
/// relative to a line-aligned address.
pub(super) fn lines(at: usize, behind: usize) -> usize {
    behind.div_ceil(LINE) - at / LINE
}

/// A table's prefetch function and its state. Valid while the table lives.
#[derive(Clone, Copy)]
pub(crate) struct Fetcher {
    /// Prefetches what the lookups of `count` consecutive keys will read.
    ///
    /// # Safety
    /// `keys` points to `count` keys of the table; the caller is inside its domain.
    pub fetch: unsafe fn(state: *const c_void, keys: *const u64, count: usize),
    pub state: *const c_void,
    /// Points to the table's estimate of the bytes that lookups touch.
    pub bytes: *const AtomicUsize,
}

impl Fetcher {
    /// Returns the estimated number of bytes that lookups touch.
    ///
    /// # Safety
    /// The table is alive.
    pub(crate) unsafe fn bytes(&self) -> usize {
        // SAFETY: it points into the table.
        unsafe { &*self.bytes }.load(Ordering::Relaxed)
    }
}
