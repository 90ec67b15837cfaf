//! The transmit ring of a packet socket (`TPACKET_V2`). Frames are copied into slots that are shared with the kernel,
//! and one system call sends all of them. All access to the shared memory is in this module.
//!
//! Each slot begins with the kernel's header, whose status word says who owns the slot, and a `virtio_net_hdr`. The
//! latter makes the kernel copy the whole frame into the packet, which is a fifth cheaper than `sendmmsg`. Without it,
//! the packet refers to the slot's page, and virtual devices allocate another page to replace it. With it, the kernel
//! does not check a frame's length against the MTU, so this module does.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use hopwright_dataplane::Packet;

use crate::linux::closing::SlowToClose;
use crate::linux::mapping::Mapping;
use crate::linux::sys;

/// Size of a slot in bytes. For longer frames, copying once more does not pay.
const SLOT: usize = 2048;
const BLOCK: usize = 1 << 16;
/// Offset of a slot's `virtio_net_hdr` (Documentation/networking/packet_mmap.rst).
const OFFLOADS: usize = libc::TPACKET2_HDRLEN - size_of::<libc::sockaddr_ll>();
/// Offset of its field `hdr_len`, which follows `flags` and `gso_type` of a byte each.
const COPIED: usize = OFFLOADS + 2;
const FRAME: usize = OFFLOADS + 10;
/// The length of the longest frame that a slot holds, in bytes.
pub(super) const LONGEST: usize = SLOT - FRAME;

/// The ring and its socket. A packet socket with a transmit ring can send only through the ring.
pub(super) struct SendRing {
    // Declared first: the memory must be unmapped before its socket is closed.
    memory: Mapping,
    socket: SlowToClose,
    /// The slot that the kernel reads next. It and the following slots are ours unless they are in flight.
    next: usize,
    slots: usize,
}

impl SendRing {
    /// Creates the ring of a packet socket, which must not be bound yet. `slots` is a power of two of at least 32.
    pub(super) fn new(socket: SlowToClose, slots: usize) -> io::Result<SendRing> {
        if !slots.is_power_of_two() || slots * SLOT < BLOCK {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &(1 as libc::c_int))?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (slots * SLOT / BLOCK) as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: slots as u32,
        };
        sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_TX_RING, &request)?;
        let memory = Mapping::new(&socket, 0, slots * SLOT)?;
        Ok(SendRing { memory, socket, next: 0, slots })
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Sends packets in order and returns how many the device took. Stops before a packet that is longer than
    /// [`LONGEST`] or `longest`, before a slot that is still in flight, and at the first packet that the system
    /// refuses. The rest does not stay in the ring.
    pub(super) fn send(&mut self, packets: &[Packet], longest: usize) -> usize {
        let longest = longest.min(LONGEST);
        let filled = packets.iter().take(self.slots).take_while(|packet| packet.len() <= longest);
        let filled = filled.enumerate().take_while(|(i, packet)| self.fill(self.next + i, packet.bytes())).count();
        if filled == 0 {
            return 0;
        }
        // SAFETY: plain system call that reads no memory of ours but the mapping.
        unsafe { libc::send(self.socket.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        // The kernel takes slots in order, so if it took the last one, it took all. The result of the call is less
        // reliable: running out of memory on the way is not reported.
        let first = self.next;
        let sent = if self.waits(first + filled - 1) {
            (0..filled).position(|i| self.waits(first + i)).unwrap_or(filled)
        } else {
            filled
        };
        for slot in first + sent..first + filled {
            self.status(slot).store(libc::TP_STATUS_AVAILABLE, Ordering::Relaxed);
        }
        self.next = (first + sent) % self.slots;
        sent
    }

    /// A slot's status word, which says who owns it. `slot` may exceed the number of slots; it wraps around.
    fn status(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: `header` is that of a slot within the mapping and aligned; the word is only accessed atomically, here
        // and by the kernel.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header(slot)).tp_status) }
    }

    fn header(&self, slot: usize) -> *mut libc::tpacket2_hdr {
        // SAFETY: the mapping has `self.slots` slots; SLOT is a multiple of the header's alignment.
        unsafe { self.memory.start().as_ptr().add(slot % self.slots * SLOT).cast() }
    }

    /// Whether the kernel has not taken a filled slot: it has not reached it, or refused its contents.
    fn waits(&self, slot: usize) -> bool {
        let status = self.status(slot).load(Ordering::Acquire);
        status & (libc::TP_STATUS_SEND_REQUEST | libc::TP_STATUS_WRONG_FORMAT) != 0
    }

    /// Copies a frame of at most `LONGEST` bytes into a slot and passes it to the kernel. Returns false if the slot is
    /// still in flight.
    #[inline]
    fn fill(&self, slot: usize, frame: &[u8]) -> bool {
        let status = self.status(slot);
        if status.load(Ordering::Acquire) & libc::TP_STATUS_SENDING != 0 {
            return false;
        }
        assert!(frame.len() <= LONGEST);
        let header = self.header(slot);
        // SAFETY: the slot is ours and ends SLOT bytes after its header; the writes lie in it because of the assertion,
        // the length is written to an even address. The rest of the virtio_net_hdr stays 0 as the kernel made it.
        unsafe {
            let start = header.cast::<u8>();
            start.add(COPIED).cast::<u16>().write(frame.len() as u16);
            std::ptr::copy_nonoverlapping(frame.as_ptr(), start.add(FRAME), frame.len());
            (*header).tp_len = (FRAME - OFFLOADS + frame.len()) as u32;
        }
        status.store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        true
    }
}

#[cfg(test)]
#[path = "../../tests/it/devices/mod.rs"]
mod devices;

#[cfg(test)]
mod tests {
    use hopwright_dataplane::{FrameSize, Pool, Port};

    use super::devices::{ip, receive_exactly, with_devices};
    use super::*;
    use crate::af_packet::{AfPacket, send_ring};

    struct Pair {
        ring: SendRing,
        peer: AfPacket,
        pool: Pool,
    }

    impl Pair {
        fn open() -> Pair {
            let ring = send_ring("va", sys::interface_index("va").unwrap(), 512).unwrap();
            Pair { ring, peer: AfPacket::open("vb", None).unwrap(), pool: Pool::new(600, FrameSize::JUMBO).unwrap() }
        }

        fn send(&mut self, frames: &[Vec<u8>], longest: usize) -> usize {
            let packets: Vec<_> = frames.iter().map(|frame| self.pool.take_filled(frame).unwrap()).collect();
            let taken = self.ring.send(&packets, longest);
            packets.into_iter().for_each(|packet| self.pool.give(packet));
            taken
        }

        /// Receives `count` frames, for which it waits, and those that arrive beyond.
        fn arrived(&mut self, count: usize) -> Vec<Vec<u8>> {
            receive_exactly(&mut self.peer, &mut self.pool, count)
        }
    }

    fn frame(length: usize, number: usize) -> Vec<u8> {
        let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 0x88, 0xb5];
        f.extend(number.to_be_bytes());
        f.extend((f.len()..length).map(|i| (i * number) as u8));
        f
    }

    #[test]
    fn every_frame_arrives_whole_and_in_order() {
        with_devices(|| {
            let mut pair = Pair::open();
            for burst in 0..10 {
                let frames: Vec<_> = (0..251).map(|i| frame(60 + i * 59 % 1940, burst * 1000 + i)).collect();
                assert_eq!(pair.send(&frames, 9014), frames.len());
                assert!(pair.arrived(frames.len()) == frames);
            }
            assert!(frame(LONGEST, 1).len() == 2006 && pair.send(&[frame(LONGEST, 1)], 9014) == 1);
            assert_eq!(pair.arrived(1), [frame(LONGEST, 1)]);
        });
    }

    #[test]
    fn it_stops_before_what_is_too_long() {
        with_devices(|| {
            let mut pair = Pair::open();
            let frames = [frame(500, 1), frame(200, 2), frame(501, 3), frame(60, 4)];
            assert_eq!(pair.send(&frames, 500), 2);
            assert_eq!(pair.send(&frames[2..], 500), 0);
            assert_eq!(pair.send(&[frame(LONGEST + 1, 5)], 9014), 0);
            // The kernel refuses frames without a whole Ethernet header.
            assert_eq!(pair.send(&[frame(60, 6), vec![0; 13], frame(60, 7)], 500), 1);
            assert_eq!(pair.send(&[frame(60, 8)], 500), 1);
            assert_eq!(pair.arrived(4), [frame(500, 1), frame(200, 2), frame(60, 6), frame(60, 8)]);
        });
    }

    #[test]
    fn what_is_refused_is_not_sent_later() {
        with_devices(|| {
            let mut pair = Pair::open();
            let mut number = 0;
            for (down, up) in [
                ("link set va down", "link set va up"),
                // The device exists, but drops.
                ("link set vb down", "link set vb up"),
            ] {
                // Often enough to wrap around the ring.
                for _ in 0..3 {
                    let mut frames = || {
                        number += 100;
                        (0..100).map(|i| frame(100, number + i)).collect::<Vec<_>>()
                    };
                    ip(down);
                    assert_eq!(pair.send(&frames(), 9014), 0, "{down}");
                    assert_eq!(pair.send(&frames(), 9014), 0, "{down}");
                    ip(up);
                    pair.peer.stats();
                    let frames = frames();
                    assert_eq!(pair.send(&frames, 9014), 100, "{up}");
                    assert!(pair.arrived(100) == frames);
                }
            }
        });
    }

    #[test]
    fn it_stops_before_a_slot_in_flight() {
        with_devices(|| {
            let mut pair = Pair::open();
            let frames: Vec<_> = (0..10).map(|i| frame(100, i)).collect();
            let slot = pair.ring.next + 4;
            pair.ring.status(slot).store(libc::TP_STATUS_SENDING, Ordering::Release);
            assert_eq!(pair.send(&frames, 9014), 4);
            assert_eq!(pair.send(&frames[4..], 9014), 0);
            pair.ring.status(slot).store(libc::TP_STATUS_AVAILABLE, Ordering::Release);
            assert_eq!(pair.send(&frames[4..], 9014), 6);
            assert_eq!(pair.arrived(10), frames);
        });
    }
}
