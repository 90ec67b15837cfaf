//! The receive ring of a packet socket (`TPACKET_V2`), which is shared with the kernel. All access to the shared memory
//! is in this module.
//!
//! Each slot holds one frame and is handed over individually: a frame is readable, and wakes a waiting reader, as soon
//! as it arrives. A frame that does not fit its slot, such as joined segments from a sender on the same machine, goes
//! to the socket's queue (`PACKET_COPY_THRESH`); the slot keeps its position and metadata.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hopwright_dataplane::packet::page_size;
use hopwright_dataplane::prefetch;

use crate::linux::mapping::Mapping;
use crate::linux::sys;
use crate::offload::virtio::{self, Offloads};

/// The size of a receive ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Size of a slot in bytes: a power of two from 256 to 65,536. The kernel uses 76 of them.
    pub slot: u32,
    /// Number of slots: a power of two of at least 32.
    pub slots: u32,
}

impl Default for RingSize {
    /// 8 MiB, which holds a few milliseconds of traffic of a fast link.
    fn default() -> Self {
        RingSize { slot: 2048, slots: 4096 }
    }
}

impl RingSize {
    /// 64 KiB, for a few short packets per millisecond.
    pub const SMALL: RingSize = RingSize { slot: 512, slots: 128 };

    fn bytes(self) -> usize {
        self.slot as usize * self.slots as usize
    }
}

/// The size of the blocks from which the kernel builds the ring, in bytes. It is larger than a page, so that there are
/// fewer blocks.
const BLOCK: u32 = 1 << 16;
/// The size of the queue for frames that do not fit their slots, in bytes.
const QUEUE: libc::c_int = 4 << 20;
/// An upper bound of the length of a frame with its `virtio_net_hdr`, in bytes.
const LONGEST: usize = virtio::BYTES + (1 << 16) + 64;

/// How many slots are prefetched together. More would evict one another from the L1 cache, because slots map to few of
/// its sets.
const AHEAD: u32 = 16;
/// More slots than any ring has.
const MOST_SLOTS: u32 = 1 << 20;

/// A frame in the ring.
pub(super) struct Received<'a> {
    /// The frame, without the VLAN tag that the device stripped; truncated if there was no room.
    pub bytes: &'a [u8],
    /// The length of the whole frame in bytes.
    pub length: u32,
    /// The stripped tag: protocol (TPID) and control information (TCI).
    pub tag: Option<(u16, u16)>,
    /// What the sender left to the device, if anything.
    pub offloads: Option<Offloads>,
    /// How many times this frame has been handed out before.
    pub turn: usize,
}

/// The ring and the read position.
pub(super) struct Ring {
    memory: Mapping,
    size: RingSize,
    /// The slot to read next.
    next: u32,
    /// The same for other threads, as of the last release; before the first look at the ring, where to begin.
    position: Arc<AtomicU32>,
    begun: bool,
    /// Number of slots from `next` on that are known to be owned by us.
    ready: u32,
    /// Number of slots before `next` that have been read and not released.
    read: u32,
    /// How many times the frame in `next` has been handed out.
    turn: usize,
    /// A frame from the socket's queue, preceded by its `virtio_net_hdr`. Its pages are allocated when the first such
    /// frame arrives.
    long: Box<[u8]>,
    /// Number of bytes used in `long`.
    long_length: usize,
}

impl Ring {
    /// Creates the ring of a packet socket, which must not be bound yet.
    pub(super) fn new(socket: &OwnedFd, size: RingSize) -> io::Result<Ring> {
        let powers = size.slot.is_power_of_two() && size.slots.is_power_of_two();
        let sound = powers && (256..=BLOCK).contains(&size.slot) && size.slots >= 2 * AHEAD;
        if !sound {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &(1 as libc::c_int))?;
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &(1 as libc::c_int))?;
        // Without CAP_NET_ADMIN, the queue is limited by the system's maximum.
        if sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &QUEUE).is_err() {
            sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &QUEUE)?;
        }
        // Blocks are whole pages, of up to 64 KiB on Arm.
        let block = BLOCK.min(size.bytes() as u32).max(page_size() as u32);
        let request = libc::tpacket_req {
            tp_block_size: block,
            tp_block_nr: (size.bytes() as u32).div_ceil(block),
            tp_frame_size: size.slot,
            tp_frame_nr: (size.bytes() as u32).max(block) / size.slot,
        };
        let size = RingSize { slots: request.tp_frame_nr, ..size };
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        Ring::of(socket, size)
    }

    /// Maps the ring of a socket that has one of this size. It is read from [`Ring::position`] on, 0 unless that is set before.
    pub(super) fn of(socket: &OwnedFd, size: RingSize) -> io::Result<Ring> {
        // Other sizes are not those of a ring, and the kernel does not map what differs from the ring's.
        let powers = size.slot.is_power_of_two() && size.slots.is_power_of_two();
        if !powers || !(256..=BLOCK).contains(&size.slot) || !(2 * AHEAD..=MOST_SLOTS).contains(&size.slots) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Ring {
            memory: Mapping::new(socket, 0, size.bytes())?,
            size,
            next: 0,
            position: Arc::default(),
            begun: false,
            ready: 0,
            read: 0,
            turn: 0,
            long: vec![0; LONGEST].into(),
            long_length: 0,
        })
    }

    pub(super) fn size(&self) -> RingSize {
        self.size
    }

    /// The slot to read next.
    pub(super) fn position(&self) -> &Arc<AtomicU32> {
        &self.position
    }

    /// Whether the frame that was read last will be handed out again.
    pub(super) fn is_within_frame(&self) -> bool {
        self.turn > 0
    }

    /// The header of a slot. `slot` wraps around.
    fn header(&self, slot: u32) -> *mut libc::tpacket2_hdr {
        let slot = slot & (self.size.slots - 1);
        // SAFETY: a slot of the mapping; slots are aligned to their size, a power of two.
        unsafe { self.memory.start().as_ptr().add(slot as usize * self.size.slot as usize).cast() }
    }

    /// The status word, which says who owns the slot.
    fn status(&self, slot: u32) -> &AtomicU32 {
        // SAFETY: the word lies in the mapping and is only accessed atomically, here and by the kernel.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header(slot)).tp_status) }
    }

    /// Returns the slots that have been read to the kernel. Doing so for many slots in a row overlaps the cache misses
    /// on their headers, which another CPU has written.
    #[inline]
    pub(super) fn release(&mut self) {
        for slot in 0..self.read {
            let slot = self.next.wrapping_sub(self.read).wrapping_add(slot);
            self.status(slot).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
        self.read = 0;
        if self.begun {
            self.position.store(self.next, Ordering::Release);
        }
    }

    /// Finds slots that are ours and prefetches the first cache lines of their frames, which another CPU has written.
    /// This overlaps the misses, which the processor would not do: it cannot predict the addresses.
    fn look_ahead(&mut self) {
        while self.ready < AHEAD {
            let slot = self.next.wrapping_add(self.ready);
            if self.status(slot).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return;
            }
            self.ready += 1;
            for line in 1..4 {
                prefetch(self.header(slot).wrapping_byte_add(64 * line));
            }
        }
    }

    /// Passes the next frame to `use_it`, which returns true to receive the same frame again. Returns false if there is
    /// none. `socket` must be the ring's. The slot stays ours until [`Ring::release`].
    #[inline]
    pub(super) fn next(&mut self, socket: &OwnedFd, use_it: impl FnOnce(Received<'_>) -> bool) -> bool {
        if self.ready == 0 {
            if !self.begun {
                (self.next, self.begun) = (self.position.load(Ordering::Acquire), true);
            }
            // Slots that have been read must be released before the ring wraps around to them.
            if self.read >= self.size.slots / 2 {
                self.release();
            }
            self.look_ahead();
            if self.ready == 0 {
                return false;
            }
        }
        let slot = self.header(self.next);
        // SAFETY: the slot is ours until it is released, and it is longer than a header.
        let header = unsafe { slot.read() };
        let status = header.tp_status;
        let queued = status & libc::TP_STATUS_COPY != 0;
        if queued && self.turn == 0 {
            // The queue's frames are in the order of their slots.
            self.long_length = sys::receive(socket, &mut self.long).unwrap_or(0);
        }
        let (start, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let mut again = false;
        // The kernel keeps these within the slot. They are checked because all accesses below rely on it.
        if start >= virtio::BYTES && start + length <= self.size.slot as usize {
            // SAFETY: the bytes lie within the slot. The kernel put a virtio_net_hdr before the frame, unless it did not fit.
            let (offloads, in_slot) = unsafe {
                let frame = slot.cast::<u8>().cast_const().add(start);
                (
                    frame.sub(virtio::BYTES).cast::<[u8; virtio::BYTES]>().read(),
                    std::slice::from_raw_parts(frame, length),
                )
            };
            let bytes = match queued {
                true => self.long.get(virtio::BYTES..self.long_length).unwrap_or_default(),
                false => in_slot,
            };
            let tag = (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
                let tpid = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { header.tp_vlan_tpid } else { 0x8100 };
                (tpid, header.tp_vlan_tci)
            });
            let (length, turn) = (header.tp_len, self.turn);
            again = use_it(Received { bytes, length, tag, offloads: Offloads::read(offloads), turn });
        }
        if again {
            self.turn += 1;
            return true;
        }
        self.turn = 0;
        self.next = self.next.wrapping_add(1);
        self.ready -= 1;
        self.read += 1;
        true
    }
}
