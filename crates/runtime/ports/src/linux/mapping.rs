//! Memory that a socket shares with the kernel. The modules of the rings define its layout.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

/// A mapping of a socket's memory, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    memory: NonNull<u8>,
    bytes: usize,
}

// SAFETY: within this process, the mapping belongs to this value alone.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes of a socket's memory from an offset on. The ring there must exist.
    pub(crate) fn new(socket: &OwnedFd, offset: i64, bytes: usize) -> io::Result<Mapping> {
        // SAFETY: a new mapping, which overlaps no memory of ours; the result is checked.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                offset,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Mapping { memory, bytes })
    }

    /// The start of the mapping, page-aligned. Valid while this value lives.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.memory
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this size.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}
