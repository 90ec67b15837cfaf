//! Passes several pieces of memory to the kernel as one message.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The pieces of a message, at most `MOST`.
pub(crate) struct Gather<const MOST: usize>([libc::iovec; MOST]);

// SAFETY: the pointers are only followed within the methods, which set them first.
unsafe impl<const MOST: usize> Send for Gather<MOST> {}

impl<const MOST: usize> Gather<MOST> {
    /// Creates an empty list.
    pub(crate) fn new() -> Gather<MOST> {
        Gather([libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST])
    }

    /// Sets the pieces, and returns their number. Pieces for which there is no room are left out.
    fn set<'a>(&mut self, pieces: impl Iterator<Item = &'a [u8]>) -> usize {
        let mut count = 0;
        for (vector, piece) in self.0.iter_mut().zip(pieces) {
            *vector = libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() };
            count += 1;
        }
        count
    }

    /// Sends a message through a socket. Does not wait.
    pub(crate) fn send<'a>(&mut self, socket: &OwnedFd, pieces: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        let count = self.set(pieces);
        // SAFETY: all-zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = self.0.as_mut_ptr();
        message.msg_iovlen = count as _;
        // SAFETY: `count` pieces were set, which are borrowed for longer than this call; the kernel only reads them.
        let result = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Writes a message to a device.
    pub(crate) fn write<'a>(&mut self, device: &OwnedFd, pieces: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        let count = self.set(pieces);
        // SAFETY: as above.
        let result = unsafe { libc::writev(device.as_raw_fd(), self.0.as_ptr(), count as libc::c_int) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl<const MOST: usize> std::fmt::Debug for Gather<MOST> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gather").field("most", &MOST).finish()
    }
}
