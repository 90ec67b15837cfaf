//! Returns free memory to the system.
//!
//! The allocator keeps the peak of what a thread has needed, in an arena of its own: a compiler's is many times what stays in use.

/// Returns the allocator's free memory to the system. Takes milliseconds, during which other threads' allocations wait; workers
/// allocate nothing.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim has no preconditions and only touches memory that the allocator holds free.
    unsafe {
        libc::malloc_trim(0);
    }
}
