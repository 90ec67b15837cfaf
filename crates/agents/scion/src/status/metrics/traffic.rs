//! Interprets the program's counters as traffic: packets and SCION bytes by link, kind of traffic and size class.
//!
//! `p4/scion/counters.p4` defines the index of each counter cell. Kinds and size classes are those of the reference
//! router's metrics (`router/metrics.go`).

use std::collections::BTreeMap;

use hopwright_dataplane::{ControlError, Count, VirtualDataPlane};

use crate::control::layout::bridge_bytes;
use crate::control::program::{PacketOut, Reason, Traffic, object};
use crate::control::tables::{self, FLYOVER_CELLS, FLYOVER_OUTCOMES, FLYOVERS};

/// Size classes of SCION packets: powers of two in bytes, with the reference's names.
pub const SIZE_CLASSES: [&str; 9] =
    ["0_63", "64_127", "128_255", "256_511", "512_1023", "1024_2047", "2048_4095", "4096_8191", "8192_16383"];

/// Kinds of traffic, with the reference's names.
pub const KINDS: &[&str] = Traffic::LABELS;

/// The kind in [`KINDS`] of packets that the router itself sends, and of one-hop paths.
const OTHER: usize = Traffic::Other as usize;

/// Width of the program's size step in a counter index, in bits.
const SIZE_BITS: u64 = 5;
/// Width of a kind of traffic in a counter index, and of the kind of headers in front of the SCION packet, in bits.
const KIND_BITS: u64 = 5;
/// Width of a reason in a counter index, in bits.
const REASON_BITS: u64 = 7;
/// Bytes in front of a SCION packet: Ethernet, IPv4 or IPv6, UDP; and the same after a packet-out header.
const IN_FRONT: [u64; 4] = [42, 62, 42 + PacketOut::BYTES as u64, 62 + PacketOut::BYTES as u64];

/// Returns the size class of a SCION packet of `bytes` bytes.
pub fn size_class(bytes: usize) -> usize {
    let bits = (usize::BITS - bytes.leading_zeros()) as usize;
    bits.clamp(6, 14) - 6
}

/// Returns the size class of one of the program's size steps.
fn class_of_step(step: usize) -> usize {
    match step {
        0..16 => size_class(step * 64),
        _ => size_class((step - 16) * 1024),
    }
}

/// Packets by size class.
pub(super) type BySize = [Count; SIZE_CLASSES.len()];

/// Counts of packets that the router itself sends: SCMP messages and BFD. Kept by the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnPackets(BTreeMap<u16, BySize>);

impl OwnPackets {
    /// Counts a packet sent through the link with this counter index; `bytes` is the length of its SCION packet.
    pub fn count(&mut self, index: u16, bytes: usize) {
        self.add(index, bytes, 1);
    }

    /// Counts several packets of one length.
    pub fn add(&mut self, index: u16, bytes: usize, packets: u64) {
        let count = &mut self.0.entry(index).or_default()[size_class(bytes)];
        count.packets += packets;
        count.bytes += bytes as u64 * packets;
    }
}

/// Counts of packets that the slow path has dropped, by the counter index of their ingress link. Kept by the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlowPathDrops(BTreeMap<u16, DropsBySize>);

/// Dropped packets by size class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropsBySize {
    /// Packets that cannot be answered.
    pub invalid: [u64; SIZE_CLASSES.len()],
    /// Packets beyond the rate limit.
    pub busy: [u64; SIZE_CLASSES.len()],
}

impl SlowPathDrops {
    /// Counts packets that cannot be answered; `bytes` is the length of their SCION packets.
    pub fn invalid(&mut self, index: u16, bytes: usize, packets: u64) {
        self.0.entry(index).or_default().invalid[size_class(bytes)] += packets;
    }

    /// Counts a packet beyond the rate limit.
    pub fn busy(&mut self, index: u16, bytes: usize) {
        self.0.entry(index).or_default().busy[size_class(bytes)] += 1;
    }

    /// Returns the drops of a link.
    pub fn of(&self, index: u16) -> DropsBySize {
        self.0.get(&index).copied().unwrap_or_default()
    }
}

/// The traffic of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkTraffic {
    /// Packets received from the link.
    pub input: BySize,
    /// Packets sent through the link, by kind.
    pub output: [BySize; KINDS.len()],
    /// Packets received from the link and dropped.
    pub dropped: [u64; SIZE_CLASSES.len()],
    /// Packets received from the link and not forwarded, by reason. Reasons without packets are left out.
    pub refused: Vec<(Reason, u64)>,
    /// Hummingbird packets received from the link and forwarded, by what became of their reservation; `None` without that path type.
    pub flyovers: Option<[u64; FLYOVER_OUTCOMES.len()]>,
}

impl LinkTraffic {
    /// Reads the counters of the link with this index. `ipv6` is true if the link's underlay is IPv6.
    pub fn read(vdp: &VirtualDataPlane, index: u16, ipv6: bool, own: &OwnPackets) -> Result<LinkTraffic, ControlError> {
        let mut traffic = LinkTraffic::default();
        let bridge = bridge_bytes(vdp.pipeline());
        let add = |sum: &mut Count, frames: Count, front: usize| add(sum, frames, IN_FRONT[front] + bridge);
        let cells = |name: &str, bits: u64| {
            let start = u64::from(index) << bits;
            vdp.control().counter(name).map(|c| c.read_range(start..start + (1 << bits)))
        };
        for (cell, count) in cells(object::LINK_IN, 1 + SIZE_BITS)?.into_iter().enumerate() {
            let (step, from_agent) = (cell & 0x1f, cell >> 5);
            add(&mut traffic.input[class_of_step(step)], count, from_agent << 1 | usize::from(ipv6));
        }
        for (cell, count) in cells(object::LINK_OUT, KIND_BITS + SIZE_BITS)?.into_iter().enumerate() {
            let (step, front, kind) = (cell & 0x1f, cell >> 5 & 3, cell >> 7);
            if let Some(output) = traffic.output.get_mut(kind) {
                add(&mut output[class_of_step(step)], count, front);
            }
        }
        for (step, count) in cells(object::LINK_DROPPED, SIZE_BITS)?.into_iter().enumerate() {
            traffic.dropped[class_of_step(step)] += count.packets;
        }
        for (number, count) in (0u8..).zip(cells(object::LINK_REASONS, REASON_BITS)?) {
            if let (Some(reason), 1..) = (Reason::from_number(number), count.packets) {
                traffic.refused.push((reason, count.packets));
            }
        }
        if tables::has_hummingbird(vdp) {
            let start = u64::from(index) * FLYOVER_CELLS;
            let cells = vdp.control().counter(FLYOVERS)?.read_range(start..start + FLYOVER_CELLS);
            traffic.flyovers = Some(std::array::from_fn(|outcome| cells[outcome].packets));
        }
        for (output, own) in traffic.output[OTHER].iter_mut().zip(own.0.get(&index).into_iter().flatten()) {
            output.packets += own.packets;
            output.bytes += own.bytes;
        }
        Ok(traffic)
    }
}

/// Adds counts of frames, converted to SCION bytes: each frame has `front` bytes in front of its SCION packet.
fn add(sum: &mut Count, frames: Count, front: u64) {
    sum.packets += frames.packets;
    sum.bytes += frames.bytes.saturating_sub(frames.packets * front);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two() {
        for (bytes, class) in [
            (0, "0_63"),
            (63, "0_63"),
            (64, "64_127"),
            (127, "64_127"),
            (1023, "512_1023"),
            (1024, "1024_2047"),
            (8191, "4096_8191"),
            (8192, "8192_16383"),
            (70_000, "8192_16383"),
        ] {
            assert_eq!(SIZE_CLASSES[size_class(bytes)], class, "{bytes}");
        }
    }

    #[test]
    fn steps_and_classes_agree() {
        // Computed as in the program.
        for bytes in 0usize..16384 {
            let step = if bytes < 1024 { bytes >> 6 & 15 } else { 16 + (bytes >> 10 & 15) };
            assert_eq!(class_of_step(step), size_class(bytes), "{bytes}");
        }
    }

    #[test]
    fn kinds_are_named_as_in_the_reference() {
        assert_eq!(KINDS, ["other", "in", "out", "in_transit", "out_transit", "br_transit"]);
    }
}
