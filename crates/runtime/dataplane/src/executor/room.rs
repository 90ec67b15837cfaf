//! How far packets may grow in their buffers. All engines follow the same rule:
//!
//! - a pass may add as many bytes as there are in front of the packet when the pass starts;
//! - a packet that starts over has the pool's headroom again. It may be as long as the longest packet that ports receive
//!   and what a pass can add, if its buffer is large enough for it and for what the next pass can add.
//!
//! A packet that grows further is dropped with [`hopwright_abi::Verdict::NoHeadroom`].

use hopwright_interp::Room;
use hopwright_ir::Pipeline;
use hopwright_ir::analysis::growth;

use crate::packet::{DEFAULT_HEADROOM, FrameSize, JUMBO_BYTES, Packet, Pool};

/// Bytes that ports may put in front of a received packet: a VLAN tag that the kernel has removed.
const RESTORED_TAG: u32 = 4;

/// The headroom that a program's packets need; `u32::MAX` if there is no bound.
pub(crate) fn headroom(pipeline: &Pipeline) -> u32 {
    growth::headroom(pipeline).map_or(u32::MAX, |bytes| bytes.saturating_add(RESTORED_TAG))
}

/// The number of bytes that a pass of a program can add to a packet, at most; `u32::MAX` if there is no bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth(u32);

impl Growth {
    pub(crate) fn of(pipeline: &Pipeline) -> Growth {
        Growth(growth::of_a_pass(pipeline).unwrap_or(u32::MAX))
    }

    /// Where a packet begins that starts over. The default without a pool.
    fn start(packet: &Packet, pool: Option<&Pool>) -> u32 {
        pool.map_or(DEFAULT_HEADROOM, |pool| pool.headroom_of(packet))
    }

    /// The length of the longest packet that starts over in a buffer of this many bytes.
    fn longest(self, start: u32, capacity: u32) -> u32 {
        let added = self.0.min(start);
        capacity.saturating_sub(added).min(JUMBO_BYTES + added)
    }

    /// Gives a packet that starts over its headroom. Moves it only if the next pass may need that. False, and no change, if
    /// the packet is too long.
    pub(crate) fn restore(self, packet: &mut Packet, pool: Option<&Pool>) -> bool {
        let (start, now) = (Growth::start(packet, pool), packet.raw().start);
        if packet.len() > self.longest(start, packet.raw().capacity) as usize {
            return false;
        }
        // If a pass can add more than there is room for, each has the same room.
        let moves = if self.0 > start { now != start } else { now < self.0 };
        if moves {
            packet.start_at(start);
        }
        true
    }

    /// The room of a received packet and its copies.
    pub(crate) fn room(self, packet: &Packet, pool: Option<&Pool>) -> Room {
        self.room_in(packet.raw().start, Growth::start(packet, pool), packet.raw().capacity)
    }

    /// The room of a received packet in a frame.
    pub(crate) fn room_of(self, size: FrameSize) -> Room {
        self.room_in(size.headroom, size.headroom, size.stride() as u32)
    }

    fn room_in(self, first: u32, later: u32, capacity: u32) -> Room {
        Room { first_pass: first as usize, later_pass: later as usize, longest: self.longest(later, capacity) as usize }
    }
}
