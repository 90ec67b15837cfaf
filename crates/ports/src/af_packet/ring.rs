//! The receive ring of a packet socket (`TPACKET_V2`), shared with the kernel. All access to the shared memory is here.
//!
//! Each slot holds one frame and changes hands by itself: a frame can be read, and a waiting reader is woken, as soon
//! as it arrives. A frame that does not fit a slot, such as joined datagrams from a sender on the same machine, waits
//! in the socket's queue (`PACKET_COPY_THRESH`); its slot keeps its place and metadata.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::linux::mapping::Mapping;
use crate::linux::sys;
use crate::offload::segmentation::{self, OFFLOADS};

/// Size of a receive ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Bytes of a slot: a power of two, at least 256 and at most 64 KiB. 76 of them are the kernel's.
    pub slot: u32,
    /// Slots: a power of two, at least 32.
    pub slots: u32,
}

impl Default for RingSize {
    /// 8 MiB: the frames of some milliseconds of a fast link.
    fn default() -> Self {
        RingSize { slot: 2048, slots: 4096 }
    }
}

impl RingSize {
    /// For a few short packets a millisecond. 64 KiB.
    pub const SMALL: RingSize = RingSize { slot: 512, slots: 128 };

    fn bytes(self) -> usize {
        self.slot as usize * self.slots as usize
    }
}

/// Bytes of a block, of which the kernel makes the ring: more than a page, so that it needs fewer.
const BLOCK: u32 = 1 << 16;
/// Bytes the kernel may keep of frames that do not fit their slots.
const QUEUE: libc::c_int = 4 << 20;
/// Bytes of the longest frame, and more.
const LONGEST: usize = OFFLOADS + (1 << 16) + 64;

/// Slots that are looked at together: their lines share few sets of the first-level cache.
const AHEAD: u32 = 16;

/// A packet in the ring.
pub(super) struct Received<'a> {
    /// The frame without a VLAN tag that the device took off; as much as there was room for.
    pub bytes: &'a [u8],
    /// Bytes of the frame.
    pub length: u32,
    /// The tag that was taken off: protocol and control information.
    pub tag: Option<(u16, u16)>,
    /// The sender left the layer-4 checksum to the device.
    pub partial_checksum: bool,
    /// Payload bytes of each UDP datagram if the frame is several, which a sender on the same machine left to the
    /// device to take apart; else 0.
    pub segment_size: u16,
    /// How often it has been handed out before.
    pub turn: usize,
}

/// The ring and where we are in it.
pub(super) struct Ring {
    memory: Mapping,
    size: RingSize,
    /// The slot that is read next.
    next: u32,
    /// Slots from it on that are known to be ours.
    ready: u32,
    /// Slots before it that were read and are still ours.
    read: u32,
    /// How often the frame in it has been handed out.
    turn: usize,
    /// A frame from the socket's queue, after its `virtio_net_hdr`; the system gives it pages when there is one.
    long: Box<[u8]>,
    /// Bytes of it.
    long_length: usize,
}

impl Ring {
    /// Makes the ring of a packet socket that is not bound yet.
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
        // Without CAP_NET_ADMIN the queue stays within the system's limit.
        if sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &QUEUE).is_err() {
            sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &QUEUE)?;
        }
        let block = BLOCK.min(size.bytes() as u32).max(1 << 12);
        let request = libc::tpacket_req {
            tp_block_size: block,
            tp_block_nr: (size.bytes() as u32).div_ceil(block),
            tp_frame_size: size.slot,
            tp_frame_nr: (size.bytes() as u32).max(block) / size.slot,
        };
        let size = RingSize { slots: request.tp_frame_nr, ..size };
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = Mapping::new(socket, 0, size.bytes())?;
        Ok(Ring { memory, size, next: 0, ready: 0, read: 0, turn: 0, long: vec![0; LONGEST].into(), long_length: 0 })
    }

    /// A slot's header.
    fn header(&self, slot: u32) -> *mut libc::tpacket2_hdr {
        let slot = slot & (self.size.slots - 1);
        // SAFETY: a slot of the mapping; slots are aligned to their size, a power of two.
        unsafe { self.memory.start().as_ptr().add(slot as usize * self.size.slot as usize).cast() }
    }

    /// Its status word, through which it changes hands.
    fn status(&self, slot: u32) -> &AtomicU32 {
        // SAFETY: the word lies in the mapping and is only accessed atomically, here and by the kernel.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header(slot)).tp_status) }
    }

    /// Hands the slots back that were read: many in a row, because a CPU waits for each slot's memory, which another
    /// wrote, unless it may wait for several at a time.
    #[inline]
    pub(super) fn release(&mut self) {
        for slot in 0..self.read {
            let slot = self.next.wrapping_sub(self.read).wrapping_add(slot);
            self.status(slot).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
        self.read = 0;
    }

    /// Counts some slots that are ours, and fetches the first lines of their frames, which another CPU wrote: all at a
    /// time, as the processor does not guess where they are.
    fn look_ahead(&mut self) {
        while self.ready < AHEAD {
            let slot = self.next.wrapping_add(self.ready);
            if self.status(slot).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return;
            }
            self.ready += 1;
            #[cfg(target_arch = "x86_64")]
            for line in 1..4 {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                // SAFETY: a prefetch has no effect but on caches; slots have four lines at least.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(self.header(slot).cast::<i8>().add(64 * line)) };
            }
        }
    }

    /// The next frame, handed to `use_it`, which says whether it wants the same again. False if there is none now.
    /// `socket` is the ring's. [`Ring::release`] gives the slots back.
    #[inline]
    pub(super) fn next(&mut self, socket: &OwnedFd, use_it: impl FnOnce(Received<'_>) -> bool) -> bool {
        if self.ready == 0 {
            // It must not come round to what was read.
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
            // Queue and slots have the same order.
            self.long_length = sys::receive(socket, &mut self.long).unwrap_or(0);
        }
        let (start, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let mut again = false;
        // The kernel keeps these within the slot; checked because everything after relies on it.
        if start >= OFFLOADS && start + length <= self.size.slot as usize {
            // SAFETY: the bytes lie within the slot. The kernel put a virtio_net_hdr before the frame, unless it did not fit.
            let (offloads, in_slot) = unsafe {
                let frame = slot.cast::<u8>().cast_const().add(start);
                (frame.sub(OFFLOADS).cast::<[u8; OFFLOADS]>().read(), std::slice::from_raw_parts(frame, length))
            };
            let bytes = match queued {
                true => self.long.get(OFFLOADS..self.long_length).unwrap_or_default(),
                false => in_slot,
            };
            let tag = (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
                let tpid = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { header.tp_vlan_tpid } else { 0x8100 };
                (tpid, header.tp_vlan_tci)
            });
            let partial_checksum = status & libc::TP_STATUS_CSUMNOTREADY != 0;
            let whole = bytes.len() == header.tp_len as usize;
            let segment_size = if whole { segmentation::segment_size(offloads) } else { 0 };
            let (length, turn) = (header.tp_len, self.turn);
            again = use_it(Received { bytes, length, tag, partial_checksum, segment_size, turn });
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
