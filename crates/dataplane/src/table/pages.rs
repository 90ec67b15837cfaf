//! Memory for large tables, in pages of 2 MiB where the system has them, which saves lookups most TLB misses.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::AtomicPtr;

/// Bytes of a large page.
pub(super) const LARGE: usize = 2 << 20;
/// What memory begins at a multiple of: a cache line's bytes.
pub(super) const ALIGN: usize = 64;

/// Zeroed memory, freed on drop.
#[derive(Debug)]
pub(super) struct Pages {
    start: NonNull<u8>,
    from: From,
}

#[derive(Debug)]
enum From {
    Allocator(Layout),
    /// A mapping and its length.
    System(NonNull<u8>, usize),
}

// SAFETY: it owns its memory.
unsafe impl Send for Pages {}
// SAFETY: as above; it gives nothing but its address.
unsafe impl Sync for Pages {}

impl Pages {
    /// So many bytes, at least one.
    pub(super) fn new(bytes: usize) -> Pages {
        let layout = match Layout::from_size_align(bytes.max(1), ALIGN) {
            Ok(layout) => layout,
            Err(_) => unreachable!("a table of {bytes} bytes"),
        };
        if bytes >= LARGE
            && let Some(pages) = Pages::map(bytes)
        {
            return pages;
        }
        // SAFETY: the size is not zero.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        Pages { start, from: From::Allocator(layout) }
    }

    /// Fresh pages from the system, large ones if it has them.
    fn map(bytes: usize) -> Option<Pages> {
        let length = bytes.checked_next_multiple_of(LARGE)?.checked_add(LARGE)?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous mapping at an address of the system's choice touches nothing that is there.
        let mapping = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        if mapping == libc::MAP_FAILED {
            return None;
        }
        let mapping = NonNull::new(mapping.cast::<u8>())?;
        let padding = mapping.addr().get().wrapping_neg() % LARGE;
        // SAFETY: there is room for the padding, which is less than a large page, and the requested bytes.
        let start = unsafe { mapping.add(padding) };
        // SAFETY: the range lies within the mapping. Where there are no large pages it fails, and nothing is lost.
        #[cfg(target_os = "linux")]
        unsafe {
            libc::madvise(start.as_ptr().cast(), length - LARGE, libc::MADV_HUGEPAGE);
        }
        Some(Pages { start, from: From::System(mapping, length) })
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        match self.from {
            // SAFETY: allocated in `new` with this layout.
            From::Allocator(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            // SAFETY: mapped in `map` with this length; it has no other owner.
            From::System(mapping, length) => unsafe {
                libc::munmap(mapping.as_ptr().cast(), length);
            },
        }
    }
}

/// What may be all zero bytes.
///
/// # Safety
/// It is valid if all its bytes are zero, has no destructor, and needs no more alignment than [`ALIGN`].
pub(super) unsafe trait Zeroable {}

// SAFETY: zero.
unsafe impl Zeroable for u64 {}
// SAFETY: null.
unsafe impl<T> Zeroable for AtomicPtr<T> {}

/// An array, zero at first.
pub(super) struct Zeroed<T: Zeroable> {
    pages: Pages,
    count: usize,
    _of: PhantomData<T>,
}

impl<T: Zeroable> Zeroed<T> {
    /// So many.
    pub(super) fn new(count: usize) -> Zeroed<T> {
        Zeroed { pages: Pages::new(count * size_of::<T>()), count, _of: PhantomData }
    }
}

impl<T: Zeroable> Deref for Zeroed<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the pages have room for so many, which are valid as zeros, and belong to this array alone.
        unsafe { std::slice::from_raw_parts(self.pages.start.as_ptr().cast(), self.count) }
    }
}

impl<T: Zeroable> DerefMut for Zeroed<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.pages.start.as_ptr().cast(), self.count) }
    }
}

/// An array of addresses.
pub(super) type Pointers = Zeroed<AtomicPtr<u64>>;
