//! Returns free memory to the system.
//!
//! The allocator keeps the peak of what requests and streams needed, in one arena per thread.

/// Returns the allocator's free memory to the system. Takes milliseconds, during which other threads' allocations wait.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim has no preconditions and only touches memory that the allocator holds free.
    unsafe {
        libc::malloc_trim(0);
    }
}
