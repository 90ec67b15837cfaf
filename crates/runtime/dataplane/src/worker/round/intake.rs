//! What a worker takes in: bursts of ports, sorted by tenant, packets that control planes send, and those that generators make.

use std::time::Instant;

use super::Worker;
use crate::egress_queues::URGENT_PRIORITY;
use crate::executor::wall_clock_us;
use crate::observe::stats::{Stage, WorkerCells};
use crate::packet::{Packet, Pool};
use crate::worker::classifier::{PortRules, Slot, Table};
use crate::worker::lane::{ActiveLanes, Egress, Lane, NO_LANE};

impl Worker {
    /// Whether so many packets wait that it is not for one tenant alone: the worker was interrupted, and its ports can wait.
    fn is_behind(&self) -> bool {
        let active = self.active.places().map(|at| &self.lanes[at]).filter(|lane| !lane.paused);
        let waiting: usize = active.map(|lane| lane.frames.saturating_sub(lane.room())).sum();
        let most = match self.paused {
            true => self.lanes.iter().filter(|lane| !lane.paused).map(|lane| lane.frames).sum(),
            false => self.shared_frames,
        };
        waiting > 0 && waiting >= most / 4 * 3
    }

    /// How many packets to receive from a port. What there is no room for stays in the queue of the device if all of it is one tenant's,
    /// or nobody's in particular: a worker that was interrupted catches up without loss, and a flood costs it no time.
    #[inline]
    pub(super) fn intake(&self, queue: usize) -> usize {
        let PortRules::One(slot) = self.classifier.port(self.queues[queue].number) else {
            return if self.is_behind() { 0 } else { self.limit };
        };
        let lane = self.lanes.get(usize::from(self.by_slot[usize::from(*slot)]));
        lane.map_or(self.limit, |lane| lane.room().min(self.limit))
    }

    /// The number of a port in the program of the only tenant, if all frames of the port are its, nothing limits it and
    /// nothing waits.
    #[inline]
    pub(super) fn only_lane(&self, queue: usize) -> Option<u32> {
        let [lane] = &self.lanes[..] else { return None };
        let PortRules::One(_) = self.classifier.port(self.queues[queue].number) else { return None };
        if lane.limited || lane.has_packets() || lane.paused { None } else { lane.numbers[queue] }
    }

    /// Runs a burst that is all of the only tenant.
    pub(super) fn take_burst(&mut self, index: usize, number: u32) {
        let (queue, lane) = (&self.queues[index], &self.lanes[0]);
        let count = self.batch.len() as u64;
        let mut bytes = 0;
        for packet in &mut self.batch {
            packet.set_ingress_port(number);
            bytes += packet.len() as u64;
        }
        if self.cells.counts_groups() {
            queue.cells.count_groups_received(&self.batch);
        }
        queue.cells.rx_packets.add(count);
        queue.cells.rx_bytes.add(bytes);
        lane.cells.rx_packets.add(count);
        lane.cells.rx_bytes.add(bytes);
        self.stopwatch.lap(&self.cells, Stage::Receive, count as usize);
        self.process(0, Instant::now(), wall_clock_us());
    }

    /// Sorts a burst by tenant, and runs what there is time for.
    pub(super) fn classify(&mut self, index: usize) {
        let begun = Instant::now();
        let Worker { queues, cells, lanes, active, by_slot, classifier, pool, batch, sorted, started, .. } = self;
        let now_ns = begun.duration_since(*started).as_nanos() as u64;
        let queue = &queues[index];
        if cells.counts_groups() {
            queue.cells.count_groups_received(batch);
        }
        let lane_of = |slot: Option<Slot>| slot.map_or(NO_LANE, |slot| by_slot[usize::from(slot)]);
        let sorted = sorted[..batch.len()].iter_mut().zip(&*batch);
        match classifier.port(queue.number) {
            PortRules::One(slot) => {
                let lane = lane_of(Some(*slot));
                sorted.for_each(|(found, _)| *found = lane);
            }
            PortRules::Several(table) if table.copies_groups() => sorted.for_each(|(found, packet)| {
                let slot = table.tenant(packet);
                let to_group = packet.bytes().first().is_some_and(|byte| byte & 1 == 1);
                *found = lane_of(match to_group {
                    true => copy_group(packet, slot, table, lanes, active, lane_of, pool, cells, index, now_ns),
                    false => slot,
                });
            }),
            // Nothing else in this loop, so that the processor reads the headers of several packets at the same time.
            PortRules::Several(table) => sorted.for_each(|(found, packet)| *found = lane_of(table.tenant(packet))),
        }
        let (count, mut bytes, mut strays) = (batch.len(), 0, 0);
        for (packet, at) in batch.drain(..).zip(&self.sorted) {
            bytes += packet.len() as u64;
            let at = usize::from(*at);
            let refused = match lanes.get_mut(at) {
                Some(lane) => {
                    active.add(lane, at);
                    lane.take_in(packet, index, now_ns)
                }
                None => {
                    strays += 1;
                    Some(packet)
                }
            };
            refused.into_iter().for_each(|packet| pool.give(packet));
        }
        cells.no_tenant.add(strays);
        queue.cells.rx_packets.add(count as u64);
        queue.cells.rx_bytes.add(bytes);
        self.stopwatch.lap(&self.cells, Stage::Receive, count);
        self.serve(begun);
    }

    /// Takes what control planes send.
    pub(super) fn inject_all(&mut self) -> usize {
        let count = (0..self.lanes.len()).map(|lane| self.inject(lane)).sum();
        if self.lanes.iter().any(|lane| lane.tenant.inject.has_packets()) {
            self.switch.workers().injected.raise();
        }
        count
    }

    /// Takes what a tenant's control plane sends.
    fn inject(&mut self, at: usize) -> usize {
        if !self.lanes[at].tenant.inject.has_packets() {
            return 0;
        }
        let alone = self.lanes.len() == 1;
        let begun = Instant::now();
        let mut count = 0;
        let Worker { lanes, active, pool, batch, limit, queues, .. } = self;
        let lane = &mut *lanes[at];
        active.add(lane, at);
        let most = if alone { *limit } else { lane.room().min(*limit) };
        let Lane { tenant, cells, egress, .. } = lane;
        let inject = &tenant.inject;
        while count < most {
            let mut place = |bytes: &[u8], port: u32, raw: bool, priority: u8| {
                let filled = pool.take_filled(bytes).map(|mut p| {
                    p.set_ingress_port(port);
                    p.set_priority(priority);
                    p
                });
                match (filled, raw, egress.get(port as usize)) {
                    (None, ..) => cells.no_frame.add(1),
                    (Some(p), false, _) => batch.push(p),
                    (Some(p), true, Some(Egress::Port(at))) => queues[usize::from(*at)].out.push(p),
                    (Some(p), true, _) => {
                        cells.no_such_port.add(1);
                        pool.give(p);
                    }
                }
            };
            // What is urgent must not wait in egress queues either.
            let urgent = |bytes: &[u8], port, raw| place(bytes, port, raw, URGENT_PRIORITY);
            if !inject.urgent.take(urgent) && !inject.normal.take(|bytes, port, raw| place(bytes, port, raw, 0)) {
                break;
            }
            count += 1;
        }
        cells.injected.add(count as u64);
        match alone {
            true => self.transmit(),
            false => queues.iter_mut().for_each(|queue| queue.end_run(at as u16)),
        }
        self.run_made(at, begun);
        count
    }

    /// Runs a batch that did not come from a port.
    pub(super) fn run_made(&mut self, at: usize, begun: Instant) {
        if self.lanes.len() == 1 && !self.lanes[at].has_packets() && !self.lanes[at].paused {
            if !self.batch.is_empty() {
                self.process(at, Instant::now(), wall_clock_us());
            }
            return;
        }
        let Worker { lanes, active, pool, batch, lost_time, .. } = self;
        let lane = &mut *lanes[at];
        active.add(lane, at);
        for packet in batch.drain(..) {
            lane.wait(packet).into_iter().for_each(|packet| pool.give(packet));
        }
        lane.account.debit(begun.elapsed().as_nanos() as u64, 0, || lost_time.take());
        self.serve(Instant::now());
    }

    /// Runs packets that generators make now.
    #[cold]
    pub(super) fn generate(&mut self) -> usize {
        let begun = Instant::now();
        let alone = self.lanes.len() == 1;
        let mut total = 0;
        for at in 0..self.lanes.len() {
            if self.lanes[at].due().is_none_or(|due| due > begun) {
                continue;
            }
            let Worker { lanes, pool, batch, limit, started, .. } = self;
            let lane = &mut *lanes[at];
            let most = if alone { *limit } else { lane.room().min(*limit) };
            let Lane { tenant, cells, generators, limited, .. } = lane;
            let now_ns = begun.duration_since(*started).as_nanos() as u64;
            let mut count = 0;
            for generator in generators {
                count += generator.make(begun, most - count, pool, |pool, packet| match packet {
                    Some(packet) if *limited && !tenant.policer.admit(now_ns, packet.len()) => {
                        cells.policed.add(1);
                        pool.give(packet);
                    }
                    Some(packet) => batch.push(packet),
                    None => cells.no_frame.add(1),
                });
            }
            cells.injected.add(count as u64);
            self.run_made(at, begun);
            total += count;
        }
        self.due = self.lanes.iter().filter_map(|lane| lane.due()).min();
        total
    }
}

/// Copies a frame to the tenants that ask for frames to its group address. Returns whose the frame itself is.
#[cold]
#[expect(clippy::too_many_arguments, reason = "parts of a worker that are borrowed apart")]
fn copy_group(
    packet: &Packet,
    slot: Option<Slot>,
    table: &Table,
    lanes: &mut [Box<Lane>],
    active: &mut ActiveLanes,
    lane_of: impl Fn(Option<Slot>) -> u16,
    pool: &mut Pool,
    cells: &WorkerCells,
    queue: usize,
    now_ns: u64,
) -> Option<Slot> {
    // A frame that is no tenant's goes to one of them.
    let slot = slot.or_else(|| table.copies(packet.bytes()).next());
    for further in table.copies(packet.bytes()).filter(|further| Some(*further) != slot) {
        cells.group_copies.add(1);
        let at = usize::from(lane_of(Some(further)));
        let Some(lane) = lanes.get_mut(at) else { continue };
        active.add(lane, at);
        let copy = if lane.room() > 0 { pool.take_filled(packet.bytes()) } else { None };
        match copy {
            Some(copy) => lane.take_in_copy(copy, queue, now_ns).into_iter().for_each(|copy| pool.give(copy)),
            None => lane.lose_copy(packet.len()),
        }
    }
    slot
}
