//! Memory for large tables in huge pages of 2 MiB, if the system has them. Huge pages avoid most TLB misses of lookups.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::AtomicPtr;

/// Size of a huge page in bytes.
pub(super) const LARGE: usize = 2 << 20;
/// Alignment of the memory in bytes: a cache line.
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
    /// A mapping and its length in bytes.
    System(NonNull<u8>, usize),
}

// SAFETY: the value owns its memory.
unsafe impl Send for Pages {}
// SAFETY: as above; shared access exposes only the address.
unsafe impl Sync for Pages {}

impl Pages {
    /// Allocates `bytes` bytes, at least one.
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

    /// Maps pages from the system, and asks for huge ones.
    fn map(bytes: usize) -> Option<Pages> {
        let length = bytes.checked_next_multiple_of(LARGE)?.checked_add(LARGE)?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous mapping at an address that the system chooses overlaps no existing mapping.
        let mapping = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        if mapping == libc::MAP_FAILED {
            return None;
        }
        let mapping = NonNull::new(mapping.cast::<u8>())?;
        let padding = mapping.addr().get().wrapping_neg() % LARGE;
        // SAFETY: there is room for the padding, which is less than a large page, and the requested bytes.
        let start = unsafe { mapping.add(padding) };
        // SAFETY: the range lies within the mapping. The call fails on systems without huge pages, which is harmless.
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

/// A type that may consist of zero bytes.
///
/// # Safety
/// The type is valid if all its bytes are zero, has no destructor, and needs no more alignment than [`ALIGN`].
pub(super) unsafe trait Zeroable {}

// SAFETY: zero is a valid integer.
unsafe impl Zeroable for u64 {}
// SAFETY: null is a valid pointer.
unsafe impl<T> Zeroable for AtomicPtr<T> {}

/// An array, initially zeroed.
pub(super) struct Zeroed<T: Zeroable> {
    pages: Pages,
    count: usize,
    _of: PhantomData<T>,
}

impl<T: Zeroable> Zeroed<T> {
    /// Creates an array of `count` elements.
    pub(super) fn new(count: usize) -> Zeroed<T> {
        Zeroed { pages: Pages::new(count * size_of::<T>()), count, _of: PhantomData }
    }
}

impl<T: Zeroable> Deref for Zeroed<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the pages have room for `count` elements, which are valid as zeros, and belong to this array alone.
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

/// An array of pointers.
pub(super) type Pointers = Zeroed<AtomicPtr<u64>>;
