//! The rings that an AF_XDP socket shares with the kernel: single producer, single consumer, a power of two in size.
//! All access to their memory is in this module.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::linux::mapping::Mapping;

/// A ring's memory and the addresses of its parts.
#[derive(Debug)]
struct Shared<T> {
    _memory: Mapping,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    slots: NonNull<T>,
    mask: u32,
}

// SAFETY: within this process, the mapping belongs to this value alone.
unsafe impl<T> Send for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// Maps a ring of `size` slots, a power of two, which must exist on the socket.
    fn map(socket: &OwnedFd, page: i64, offsets: libc::xdp_ring_offset, size: u32) -> io::Result<Shared<T>> {
        let bytes = offsets.desc as usize + size as usize * size_of::<T>();
        let memory = Mapping::new(socket, page, bytes)?;
        // SAFETY: the kernel gives the offsets of the ring's words in the mapping, which is long enough.
        let at = |offset: u64| unsafe { memory.start().add(offset as usize) };
        Ok(Shared {
            producer: at(offsets.producer).cast(),
            consumer: at(offsets.consumer).cast(),
            flags: at(offsets.flags).cast(),
            slots: at(offsets.desc).cast(),
            mask: size - 1,
            _memory: memory,
        })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: an aligned word in the mapping that is only accessed atomically, here and by the kernel.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as for the producer.
        unsafe { self.consumer.as_ref() }
    }

    fn needs_wakeup(&self) -> bool {
        // SAFETY: as for the producer.
        unsafe { self.flags.as_ref() }.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// The slot of a free-running index.
    fn slot(&self, index: u32) -> *mut T {
        // SAFETY: the index is masked, so the slot is within the mapping.
        unsafe { self.slots.as_ptr().add((index & self.mask) as usize) }
    }
}

/// A ring that we write and the kernel reads.
#[derive(Debug)]
pub(super) struct Producer<T: Copy> {
    shared: Shared<T>,
    /// The next index to write. It may be ahead of what is published.
    next: u32,
    /// The kernel's index when last read.
    taken: u32,
}

impl<T: Copy> Producer<T> {
    pub(super) fn map(
        socket: &OwnedFd,
        page: i64,
        offsets: libc::xdp_ring_offset,
        size: u32,
    ) -> io::Result<Producer<T>> {
        Ok(Producer { shared: Shared::map(socket, page, offsets, size)?, next: 0, taken: 0 })
    }

    /// Begins where another process has stopped to use the ring.
    pub(super) fn resume(&mut self) {
        self.next = self.shared.producer().load(Ordering::Acquire);
        self.taken = self.shared.consumer().load(Ordering::Acquire);
    }

    /// Returns the number of slots that can be written. Reads the kernel's index only if fewer than `wanted` are known
    /// to be free.
    #[inline]
    pub(super) fn room(&mut self, wanted: u32) -> u32 {
        let size = self.shared.mask + 1;
        if size - self.next.wrapping_sub(self.taken) < wanted {
            self.taken = self.shared.consumer().load(Ordering::Acquire);
        }
        size.saturating_sub(self.next.wrapping_sub(self.taken))
    }

    /// Writes the next slot. There must be room according to [`Producer::room`].
    #[inline]
    pub(super) fn push(&mut self, value: T) {
        // SAFETY: within the mapping; the kernel does not read it before it is published.
        unsafe { self.shared.slot(self.next).write(value) };
        self.next = self.next.wrapping_add(1);
    }

    /// Publishes what has been written to the kernel.
    #[inline]
    pub(super) fn publish(&self) {
        self.shared.producer().store(self.next, Ordering::Release);
    }

    /// The number of slots that the kernel has not taken yet.
    #[inline]
    pub(super) fn outstanding(&mut self) -> u32 {
        self.taken = self.shared.consumer().load(Ordering::Acquire);
        self.next.wrapping_sub(self.taken)
    }

    /// Whether the kernel needs a system call to continue.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        self.shared.needs_wakeup()
    }

    /// Passes the values that the kernel has not taken to `use_it`. To be called once the kernel no longer uses the
    /// ring.
    pub(super) fn drain(&mut self, mut use_it: impl FnMut(T)) {
        let left = self.outstanding().min(self.shared.mask + 1);
        for i in 0..left {
            // SAFETY: within the mapping; written by us.
            use_it(unsafe { self.shared.slot(self.taken.wrapping_add(i)).read() });
        }
        self.taken = self.next;
    }
}

/// A ring that the kernel writes and we read.
#[derive(Debug)]
pub(super) struct Consumer<T: Copy> {
    shared: Shared<T>,
    /// The next index to read. It may be ahead of what is released.
    next: u32,
    /// The kernel's index when last read.
    filled: u32,
}

impl<T: Copy> Consumer<T> {
    pub(super) fn map(
        socket: &OwnedFd,
        page: i64,
        offsets: libc::xdp_ring_offset,
        size: u32,
    ) -> io::Result<Consumer<T>> {
        Ok(Consumer { shared: Shared::map(socket, page, offsets, size)?, next: 0, filled: 0 })
    }

    /// Begins where another process has stopped to use the ring.
    pub(super) fn resume(&mut self) {
        self.next = self.shared.consumer().load(Ordering::Acquire);
        self.filled = self.next;
    }

    /// The index of the next value.
    #[inline]
    pub(super) fn position(&self) -> u32 {
        self.next
    }

    /// Returns the next value. [`Consumer::release`] returns its slot to the kernel.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.next == self.filled {
            self.filled = self.shared.producer().load(Ordering::Acquire);
            if self.next == self.filled {
                return None;
            }
        }
        // SAFETY: within the mapping; the kernel has published it and does not write it before it is released.
        let value = unsafe { self.shared.slot(self.next).read() };
        self.next = self.next.wrapping_add(1);
        Some(value)
    }

    /// Returns the slots that have been read to the kernel.
    #[inline]
    pub(super) fn release(&self) {
        self.shared.consumer().store(self.next, Ordering::Release);
    }
}
