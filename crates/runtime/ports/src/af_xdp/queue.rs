//! The rings of one AF_XDP socket, as a port uses them: empty frames to the kernel, packets from it and to it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use hopwright_dataplane::{Packet, Pool};

use super::socket::{self, Rings};

/// The maximum number of system calls in a row to send one burst.
const KICKS: u32 = 8;

/// The state of a packet that arrives in several pieces.
#[derive(Debug)]
pub(super) enum Partial {
    None,
    Some(Packet),
    /// The packet does not fit a frame. Its remaining pieces are dropped.
    TooLong,
}

/// The socket of a receive queue with its rings.
#[derive(Debug)]
pub(super) struct Queue {
    pub id: u32,
    // Declared first: the rings must be unmapped before their socket is closed.
    pub rings: Rings,
    pub socket: Arc<OwnedFd>,
    pub partial: Partial,
    /// Whether the device refused to send.
    pub down: bool,
}

impl Queue {
    /// Returns frames that have been sent to the pool.
    #[inline]
    pub(super) fn reclaim(&mut self, pool: &mut Pool, stride: u64, pieces: &[AtomicU8]) {
        let mut any = false;
        while let Some(offset) = self.rings.completed.pop() {
            any = true;
            if is_last_piece(offset, stride, pieces) {
                pool.take_back(offset);
            }
        }
        if any {
            self.rings.completed.release();
        }
    }

    /// Passes empty frames to the kernel, but keeps an eighth of the pool.
    #[inline]
    pub(super) fn refill(&mut self, pool: &mut Pool) {
        let fill = &mut self.rings.fill;
        let reserve = pool.frames() as usize / 8;
        let wanted = (fill.room(u32::MAX) as usize).min(pool.available().saturating_sub(reserve));
        if wanted == 0 {
            return;
        }
        for _ in 0..wanted {
            let Some(offset) = pool.lend() else { break };
            fill.push(offset);
        }
        fill.publish();
    }

    /// Makes the kernel send what is on the transmit ring.
    pub(super) fn kick(&mut self) {
        for _ in 0..KICKS {
            // Waiting for packets with poll(2) makes the kernel send, too. The ring may therefore be empty, and the
            // device up, without a kick.
            if self.rings.transmit.outstanding() == 0 || !self.rings.transmit.needs_wakeup() {
                self.down = false;
                return;
            }
            match socket::kick_transmit(&self.socket) {
                Ok(()) => self.down = false,
                Err(error) => match error.raw_os_error() {
                    // There are more frames than the kernel sends in one call, or no room.
                    Some(libc::EAGAIN | libc::EINTR) => {}
                    Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
                        self.down = true;
                        return;
                    }
                    _ => return,
                },
            }
        }
    }

    /// Returns the next whole packet.
    #[inline]
    pub(super) fn next(&mut self, pool: &mut Pool, too_long: &mut u64) -> Option<Packet> {
        loop {
            let piece = self.rings.receive.pop()?;
            // SAFETY: the kernel returns frames that were in the fill ring, where `refill` put lent frames, each once.
            let Some(packet) = (unsafe { pool.received(piece.addr, piece.len) }) else { continue };
            let last = piece.options & libc::XDP_PKT_CONTD == 0;
            match (std::mem::replace(&mut self.partial, Partial::None), last) {
                (Partial::None, true) => return Some(packet),
                (Partial::None, false) => self.partial = Partial::Some(packet),
                (Partial::Some(mut first), last) => {
                    let fits = first.append(packet.bytes());
                    pool.give(packet);
                    match (fits, last) {
                        (true, true) => return Some(first),
                        (true, false) => self.partial = Partial::Some(first),
                        (false, _) => {
                            *too_long += 1;
                            pool.give(first);
                            self.partial = if last { Partial::None } else { Partial::TooLong };
                        }
                    }
                }
                (Partial::TooLong, last) => {
                    pool.give(packet);
                    self.partial = if last { Partial::None } else { Partial::TooLong };
                }
            }
        }
    }

    /// Puts a packet on the transmit ring. Returns it if there is no room.
    #[inline]
    pub(super) fn push(
        &mut self,
        pool: &mut Pool,
        packet: Packet,
        chunk: u32,
        pieces: &[AtomicU8],
    ) -> Result<(), Packet> {
        let length = packet.len() as u32;
        // A descriptor must not cross the boundary of a kernel chunk.
        let in_chunk = packet.raw().start % chunk;
        let count = if length == 0 { 1 } else { (in_chunk + length).div_ceil(chunk) };
        let transmit = &mut self.rings.transmit;
        if transmit.room(count) < count {
            return Err(packet);
        }
        let frame_start = packet.raw().start;
        let mut at = pool.lend_packet(packet)?;
        if !pieces.is_empty() {
            let stride = pool.frame_size().stride() as u64;
            pieces[((at - u64::from(frame_start)) / stride) as usize].store(count as u8, Ordering::Relaxed);
        }
        let mut left = length;
        let mut room = chunk - in_chunk;
        for i in 1..=count {
            let len = left.min(room);
            let options = if i < count { libc::XDP_PKT_CONTD } else { 0 };
            transmit.push(libc::xdp_desc { addr: at, len, options });
            at += u64::from(len);
            left -= len;
            room = chunk;
        }
        Ok(())
    }
}

/// Counts a completed piece, and returns whether it was the last one of its frame.
#[inline]
fn is_last_piece(offset: u64, stride: u64, pieces: &[AtomicU8]) -> bool {
    // Only the thread that has the port writes to its frames' counts.
    let Some(pieces) = pieces.get((offset / stride) as usize) else { return true };
    let left = pieces.load(Ordering::Relaxed);
    if left > 1 {
        pieces.store(left - 1, Ordering::Relaxed);
    }
    left <= 1
}

/// Returns the frames that the kernel had, for sockets that receive nothing more.
pub(super) fn frames_of(queues: &mut [Queue], stride: u64, pieces: &[AtomicU8]) -> Vec<u64> {
    let mut offsets = Vec::new();
    for queue in queues {
        queue.rings.fill.drain(|offset| offsets.push(offset));
        while let Some(piece) = queue.rings.receive.pop() {
            offsets.push(piece.addr);
        }
        let mut sent = |offset| {
            if is_last_piece(offset, stride, pieces) {
                offsets.push(offset);
            }
        };
        while let Some(offset) = queue.rings.completed.pop() {
            sent(offset);
        }
        queue.rings.transmit.drain(|piece| sent(piece.addr));
    }
    offsets
}
