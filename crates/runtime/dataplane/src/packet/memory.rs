//! The memory of a pool's frames: allocated, or a file in memory that a successor of the process maps, too.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU8;
use std::{fmt, io};

use super::page_size;

/// What keeps a file's size.
const SIZE_SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

/// The memory of a pool's frames, and a byte for each frame behind them. It lives as long as the pool and everything that shares it, such as a
/// device.
pub struct FrameMemory {
    pub(super) start: NonNull<u8>,
    pub(super) bytes: usize,
    frames: usize,
    origin: Origin,
}

/// Where the memory of frames is from.
enum Origin {
    /// What was allocated: a page more, because the system's allocator writes to all of what it is asked to align, and
    /// frames that are never used would take memory.
    Allocated { base: NonNull<u8>, layout: Layout },
    /// A file in memory, which other processes can have.
    File(OwnedFd),
}

// SAFETY: the memory is reached through packets and devices, each of which has frames of its own.
unsafe impl Send for FrameMemory {}
// SAFETY: as above; nothing here changes after construction.
unsafe impl Sync for FrameMemory {}

impl FrameMemory {
    /// Where it begins, a multiple of a page, and its bytes.
    pub fn region(&self) -> (NonNull<u8>, usize) {
        (self.start, self.bytes)
    }

    /// The file that another process can map ([`Pool::inherited`](super::Pool::inherited)), if the memory is one.
    pub fn file(&self) -> Option<&OwnedFd> {
        match &self.origin {
            Origin::File(file) => Some(file),
            Origin::Allocated { .. } => None,
        }
    }

    /// A byte for each frame, for what a device that has the frame notes of it.
    pub fn notes(&self) -> &[AtomicU8] {
        // SAFETY: they lie behind the frames in memory that lives as long as `self`, was zeroed, and is only accessed atomically.
        unsafe { std::slice::from_raw_parts(self.start.add(self.bytes).cast().as_ptr(), self.frames) }
    }

    /// Allocates memory that begins at a page. None if the system has none.
    pub(super) fn allocate(bytes: usize, frames: u32) -> Option<FrameMemory> {
        let (page, frames) = (page_size(), frames as usize);
        let layout = Layout::from_size_align(bytes.checked_add(page + frames)?, 8).ok()?;
        // SAFETY: the layout's size is not zero.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        // SAFETY: the next page boundary is less than a page away, and there is a page more than is used.
        let start = unsafe { base.add(base.addr().get().wrapping_neg() % page) };
        Some(FrameMemory { start, bytes, frames, origin: Origin::Allocated { base, layout } })
    }

    /// Maps a file of a pool's frames.
    pub(super) fn of_file(file: OwnedFd, bytes: usize, frames: u32) -> io::Result<FrameMemory> {
        let frames = frames as usize;
        // SAFETY: a new mapping, which overlaps no memory of ours; the result is checked.
        let start = unsafe {
            let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
            libc::mmap(std::ptr::null_mut(), bytes + frames, protection, flags, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(FrameMemory { start, bytes, frames, origin: Origin::File(file) })
    }
}

impl Drop for FrameMemory {
    fn drop(&mut self) {
        match &self.origin {
            // SAFETY: allocated in `allocate` with this layout; no sharer is left.
            Origin::Allocated { base, layout } => unsafe { dealloc(base.as_ptr(), *layout) },
            // SAFETY: mapped in `of_file` with this size; no sharer is left in this process.
            Origin::File(_) => unsafe {
                libc::munmap(self.start.as_ptr().cast(), self.bytes + self.frames);
            },
        }
    }
}

/// Makes a file in memory that can neither shrink nor grow.
pub(super) fn file_in_memory(bytes: usize) -> io::Result<OwnedFd> {
    let check = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a C string; the result is checked.
    let create = |flags| check(unsafe { libc::memfd_create(c"frames".as_ptr(), flags) });
    // A system may demand that the file cannot be executed (`vm.memfd_noexec`); kernels before 6.3 do not know the flag.
    let file = create(flags | libc::MFD_NOEXEC_SEAL).or_else(|_| create(flags))?;
    // SAFETY: a new descriptor nobody else owns.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    // SAFETY: plain system calls on a descriptor of ours.
    unsafe {
        check(libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t))?;
        check(libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SIZE_SEALS))?;
    }
    Ok(file)
}

/// Whether a file has this size, and keeps it.
pub(super) fn has_size(file: &OwnedFd, bytes: usize) -> bool {
    // SAFETY: plain system calls; `status` is written if the first succeeds.
    unsafe {
        let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
        let seals = libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS);
        seals >= 0
            && seals & SIZE_SEALS == SIZE_SEALS
            && libc::fstat(file.as_raw_fd(), status.as_mut_ptr()) == 0
            && status.assume_init().st_size as usize == bytes
    }
}

impl fmt::Debug for FrameMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameMemory").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
