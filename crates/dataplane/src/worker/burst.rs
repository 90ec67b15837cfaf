//! A burst: packets that a port has received at once, sorted by the tenant's lane.

use std::ops::Range;

use crate::packet::{MAX_BATCH, Packet};
use crate::worker::classifier::MAX_TENANTS;

/// Stands for the lane of packets that no tenant gets.
pub(crate) const NO_LANE: u8 = MAX_TENANTS as u8;

/// Packets and their lanes.
pub(crate) struct Burst {
    pub packets: Vec<Packet>,
    /// By place of the packet.
    lanes: [u8; MAX_BATCH],
    /// Places of packets, lane by lane.
    order: [u8; MAX_BATCH],
    /// By lane.
    parts: [Part; MAX_TENANTS + 1],
}

/// What a lane has of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub packets: u32,
    pub bytes: u32,
    /// The program's number of the port.
    pub ingress_port: u32,
    /// Where the next packet's place goes in the order.
    next: u32,
}

impl Burst {
    pub(crate) fn new() -> Burst {
        Burst {
            packets: Vec::with_capacity(MAX_BATCH),
            lanes: [NO_LANE; MAX_BATCH],
            order: [0; MAX_BATCH],
            parts: [Part::default(); MAX_TENANTS + 1],
        }
    }

    /// Begins with a burst. `ingress_ports`: the programs' numbers of the port, by lane.
    #[inline]
    pub(crate) fn begin(&mut self, ingress_ports: impl Iterator<Item = u32>) {
        debug_assert!(self.packets.len() <= MAX_BATCH);
        self.parts[usize::from(NO_LANE)] = Part::default();
        for (part, ingress_port) in self.parts.iter_mut().zip(ingress_ports) {
            *part = Part { ingress_port, ..Part::default() };
        }
    }

    /// Gives each packet to a lane or to [`NO_LANE`], and counts.
    #[inline]
    pub(crate) fn assign(&mut self, mut lane_of: impl FnMut(&Packet) -> u8) {
        for (packet, lane) in self.packets.iter().zip(&mut self.lanes) {
            *lane = lane_of(packet);
            let part = &mut self.parts[usize::from(*lane)];
            part.packets += 1;
            part.bytes += packet.len() as u32;
        }
    }

    /// What a lane has of the burst.
    #[inline]
    pub(crate) fn part(&self, lane: u8) -> Part {
        self.parts[usize::from(lane)]
    }

    /// Takes packets from the lanes that do not admit them; they are no lane's.
    pub(crate) fn admit(&mut self, mut admits: impl FnMut(u8, usize) -> bool) {
        for (packet, lane) in self.packets.iter().zip(&mut self.lanes) {
            if *lane != NO_LANE && !admits(*lane, packet.len()) {
                self.parts[usize::from(*lane)].packets -= 1;
                *lane = NO_LANE;
                self.parts[usize::from(NO_LANE)].packets += 1;
            }
        }
    }

    /// Sorts the packets by lane, of which there are so many. What is no lane's comes last.
    #[inline]
    pub(crate) fn sort(&mut self, lanes: usize) {
        let mut next = 0;
        for lane in (0..lanes).chain([usize::from(NO_LANE)]) {
            self.parts[lane].next = next;
            next += self.parts[lane].packets;
        }
        for (place, (packet, lane)) in self.packets.iter_mut().zip(self.lanes).enumerate() {
            let part = &mut self.parts[usize::from(lane)];
            packet.set_ingress_port(part.ingress_port);
            self.order[part.next as usize % MAX_BATCH] = place as u8;
            part.next += 1;
        }
    }

    /// Where a lane's packets are in the order, once it is sorted.
    #[inline]
    pub(crate) fn range(&self, lane: u8) -> Range<usize> {
        let Part { packets, next, .. } = self.part(lane);
        (next - packets) as usize..next as usize
    }

    /// Moves a part of the order out.
    #[inline]
    pub(crate) fn take(&mut self, range: Range<usize>) -> impl Iterator<Item = Packet> {
        let Burst { packets, order, .. } = self;
        order[range].iter().map(|place| packets[usize::from(*place)].take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FrameSize, Pool};

    #[test]
    fn packets_are_sorted_by_lane_in_the_order_they_came() {
        let mut pool = Pool::new(MAX_BATCH as u32, FrameSize { headroom: 0, data: 64 }).unwrap();
        let mut burst = Burst::new();
        for _round in 0..2 {
            for number in 0..MAX_BATCH {
                burst.packets.push(pool.take_filled(&[number as u8]).unwrap());
            }
            let lane_of = |number: u8| [0, 2, NO_LANE, 2, 1, 1, 2][usize::from(number) % 7];
            burst.begin([10, 11, 12].into_iter());
            burst.assign(|packet| lane_of(packet.bytes()[0]));
            let in_lane_2 = (0..=255u8).filter(|number| lane_of(*number) == 2).count() as u32;
            assert_eq!(burst.part(2), Part { packets: in_lane_2, bytes: in_lane_2, ingress_port: 12, next: 0 });
            burst.admit(|lane, bytes| lane != 1 && bytes == 1);
            burst.sort(3);
            assert_eq!(burst.range(1).len(), 0);
            for lane in [0, 2, NO_LANE] {
                let taken: Vec<Packet> = burst.take(burst.range(lane)).collect();
                let numbers: Vec<u8> = taken.iter().map(|packet| packet.bytes()[0]).collect();
                let expected = (0..=255u8).filter(|number| match lane_of(*number) {
                    1 => lane == NO_LANE,
                    other => lane == other,
                });
                assert_eq!(numbers, Vec::from_iter(expected));
                for packet in taken {
                    assert!(lane == NO_LANE || packet.ingress_port() == 10 + u32::from(lane));
                    pool.give(packet);
                }
            }
            burst.packets.clear();
        }
    }
}
