//! The receive ring of a packet socket (`TPACKET_V3`), shared with the kernel.
//!
//! The kernel fills blocks with packets and hands over whole blocks; we hand each back when its last packet was read.
//! All access to the shared memory is here.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::mapping::Mapping;
use crate::segmentation::{self, OFFLOADS};
use crate::sys;

/// Size of a receive ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Bytes of a block, a power of two of at least a page; no packet is longer.
    pub block: u32,
    /// Blocks.
    pub blocks: u32,
    /// Milliseconds after which the kernel hands over a block that is not full.
    pub patience: u32,
}

impl Default for RingSize {
    /// 8 MiB: some milliseconds of a fast link in blocks that are worth waking for, and that hold the longest joined
    /// frame. As each block waits a millisecond at most, it holds a sixteenth of a second of a slow one.
    fn default() -> Self {
        RingSize { block: 1 << 17, blocks: 64, patience: 1 }
    }
}

impl RingSize {
    /// For a few packets a millisecond that are no longer than two KiB.
    pub const SMALL: RingSize = RingSize { block: 1 << 12, blocks: 128, patience: 1 };
}

const STATUS_CSUM_NOT_READY: u32 = 1 << 3;
const STATUS_VLAN_VALID: u32 = 1 << 4;
const STATUS_VLAN_TPID_VALID: u32 = 1 << 6;

/// A packet in the ring.
pub(super) struct Received<'a> {
    /// The frame without a VLAN tag that the device took off; as much as fitted the block.
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
    block: u32,
    /// Packets of the current block not read yet; the block is ours while this is not 0.
    left: u32,
    /// Offset of the next of them in the memory.
    next: usize,
    /// How often that has been handed out.
    turn: usize,
}

impl Ring {
    /// Makes the ring of a packet socket that is not bound yet.
    pub fn new(socket: &OwnedFd, size: RingSize) -> io::Result<Ring> {
        sys::set_option(
            socket,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V3 as libc::c_int),
        )?;
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &(1 as libc::c_int))?;
        // The kernel wants a frame size though frames of version 3 have any.
        let frame = 2048;
        let request = libc::tpacket_req3 {
            tp_block_size: size.block,
            tp_block_nr: size.blocks,
            tp_frame_size: frame,
            tp_frame_nr: size.block / frame * size.blocks,
            tp_retire_blk_tov: size.patience,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = Mapping::new(socket, 0, size.bytes())?;
        Ok(Ring { memory, size, block: 0, left: 0, next: 0, turn: 0 })
    }

    fn block_start(&self) -> usize {
        self.block as usize * self.size.block as usize
    }

    /// The current block's status word, through which it changes hands.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: a block begins with its descriptor, whose header's status follows the two leading words; block
        // starts are aligned to pages; the word is only accessed atomically, here and by the kernel.
        unsafe {
            let descriptor = self.memory.start().as_ptr().add(self.block_start()).cast::<libc::tpacket_block_desc>();
            AtomicU32::from_ptr(&raw mut (*descriptor).hdr.bh1.block_status)
        }
    }

    /// The next packet, handed to `use_it`, which says whether it wants the same again. False if there is none now.
    #[inline]
    pub fn next(&mut self, use_it: impl FnOnce(Received<'_>) -> bool) -> bool {
        while self.left == 0 {
            if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return false;
            }
            // SAFETY: the block is ours: its descriptor is constant until we hand it back.
            let (count, first) = unsafe {
                let descriptor =
                    self.memory.start().as_ptr().add(self.block_start()).cast::<libc::tpacket_block_desc>();
                ((*descriptor).hdr.bh1.num_pkts, (*descriptor).hdr.bh1.offset_to_first_pkt)
            };
            self.left = count;
            self.next = self.block_start() + first as usize;
            if count == 0 {
                self.hand_back();
            }
        }
        let end = self.block_start() + self.size.block as usize;
        // The kernel keeps these within the block; checked because everything after relies on it.
        let header_fits = self.next.checked_add(size_of::<libc::tpacket3_hdr>()).is_some_and(|e| e <= end);
        if !header_fits {
            self.left = 0;
            self.hand_back();
            return false;
        }
        // SAFETY: the header lies within the block, which is ours; the kernel aligns headers to 16.
        let header = unsafe { self.memory.start().as_ptr().add(self.next).cast::<libc::tpacket3_hdr>().read() };
        let start = self.next + usize::from(header.tp_mac);
        let length = header.tp_snaplen as usize;
        let mut again = false;
        if start + length <= end && start >= self.next + OFFLOADS {
            // SAFETY: the bytes lie within the block, which is ours until it is handed back below.
            let bytes = unsafe { std::slice::from_raw_parts(self.memory.start().as_ptr().add(start), length) };
            // SAFETY: as above; the kernel put a virtio_net_hdr before the frame, unless it did not fit.
            let offloads =
                unsafe { self.memory.start().as_ptr().add(start - OFFLOADS).cast::<[u8; OFFLOADS]>().read() };
            let whole = header.tp_len == header.tp_snaplen;
            let tag = (header.tp_status & STATUS_VLAN_VALID != 0).then(|| {
                let tpid =
                    if header.tp_status & STATUS_VLAN_TPID_VALID != 0 { header.hv1.tp_vlan_tpid } else { 0x8100 };
                (tpid, header.hv1.tp_vlan_tci as u16)
            });
            let partial_checksum = header.tp_status & STATUS_CSUM_NOT_READY != 0;
            let segment_size = if whole { segmentation::segment_size(offloads) } else { 0 };
            let (length, turn) = (header.tp_len, self.turn);
            again = use_it(Received { bytes, length, tag, partial_checksum, segment_size, turn });
        }
        if again {
            self.turn += 1;
            return true;
        }
        self.turn = 0;
        self.left -= 1;
        self.next += header.tp_next_offset as usize;
        if self.left == 0 {
            self.hand_back();
        }
        true
    }

    fn hand_back(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.block = if self.block + 1 == self.size.blocks { 0 } else { self.block + 1 };
    }
}

impl RingSize {
    fn bytes(self) -> usize {
        self.block as usize * self.blocks as usize
    }
}
