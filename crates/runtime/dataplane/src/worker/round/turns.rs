//! Turns: a worker runs batches of its tenants' packets, of several tenants in the order of the [`schedule`](crate::worker::schedule).

use std::time::Instant;

use hopwright_abi::Verdict;

use super::Worker;
use super::sending::{Punts, dispatch};
use crate::executor::wall_clock_us;
use crate::observe::stats::Stage;
use crate::packet::{MAX_BATCH, Packet, Pool};
use crate::worker::lane::{Egress, Lane};
use crate::worker::port_queue::PortQueue;
use crate::worker::schedule::CYCLE;

/// Packets of several tenants for one port, from which on they are sent at once.
const ENOUGH_TO_SEND: usize = 64;

/// Most packets of one of several tenants that run without a look at the time.
const UNINTERRUPTED: usize = 64;

/// Most packets that run without a look at the egress queues, if there are some and the program asks how long they are.
const MAX_BETWEEN_LOOKS: usize = 4;

impl Worker {
    /// Runs packets that wait in lanes, in turn, until there are none or the round's time is up: once at least. Each lane then
    /// keeps what it may hold.
    pub(super) fn serve(&mut self, begun: Instant) {
        let now_us = wall_clock_us();
        let ends = *self.round_ends.get_or_insert(begun + CYCLE);
        let mut now = begun;
        loop {
            let (mut served, mut left) = (false, false);
            for turn in 0..self.active.len() {
                let at = self.active.at(self.next_lane + turn);
                let lane = &mut *self.lanes[at];
                if !lane.has_packets() || lane.paused {
                    lane.account.rest();
                    continue;
                }
                if lane.account.begin_turn() {
                    served = true;
                    now = self.take_turn(at, now, now_us);
                }
                left |= self.lanes[at].has_packets();
            }
            if !left || now >= ends {
                break;
            }
            if !served {
                self.skip_sweeps();
            }
        }
        self.next_lane = (self.next_lane + 1) % self.active.len().max(1);
        self.transmit_shared(now);
        let Worker { lanes, active, pool, .. } = self;
        active.settle(lanes, |lane| {
            lane.count();
            lane.keep_rest(pool);
            if !lane.has_packets() {
                lane.account.rest();
            }
        });
    }

    /// Lets sweeps go by in which no lane could be served.
    #[cold]
    pub(super) fn skip_sweeps(&mut self) {
        let Worker { lanes, active, .. } = self;
        let waits = |lane: &Lane| lane.has_packets() && !lane.paused;
        let waiting = active.places().map(|at| &*lanes[at]).filter(|lane| waits(lane));
        let sweeps = waiting.map(|lane| lane.account.sweeps_in_debt()).min().unwrap_or(0);
        for at in active.places() {
            let lane = &mut *lanes[at];
            if waits(lane) {
                lane.account.skip(sweeps);
            }
        }
    }

    /// Runs batches of a lane while its account is in credit. `now`: when the turn begins; gives when it ends.
    pub(super) fn take_turn(&mut self, at: usize, mut now: Instant, now_us: u64) -> Instant {
        loop {
            let Worker { lanes, batch, limit, .. } = self;
            let lane = &mut *lanes[at];
            let count = lane.account.affordable(*limit);
            lane.next_batch(count, batch);
            if batch.is_empty() {
                return now;
            }
            let count = self.process(at, now, now_us);
            let end = Instant::now();
            let Worker { lanes, queues, lost_time, .. } = self;
            let ns = end.duration_since(now).as_nanos() as u64;
            lanes[at].account.debit(ns, count, || lost_time.take());
            lanes[at].cells.busy_ns.add(ns);
            now = end;
            if queues.iter().any(|queue| queue.out.len() >= ENOUGH_TO_SEND) {
                self.transmit_shared(now);
                now = Instant::now();
            }
        }
    }

    /// Runs the batch, which is of one tenant, and sorts what comes out by port. Of the only tenant it is sent; of one of
    /// several it waits to be sent with what comes of the others. `start`: the time now, as `now_us` is for programs. Returns how many
    /// packets have run.
    pub(super) fn process(&mut self, at: usize, start: Instant, now_us: u64) -> usize {
        let alone = self.lanes.len() == 1;
        let lane = &mut *self.lanes[at];
        let sampling = lane.tenant.samples.wanted();
        if sampling {
            lane.tenant.samples.before(&self.batch, now_us, &mut self.sampled);
        }
        if let Some(depths) = lane.executor.depths() {
            for (queue, number) in self.queues.iter_mut().zip(&lane.numbers) {
                if let Some(number) = number {
                    depths.set(*number, queue.port.depths());
                    if queue.has_queues {
                        depths.set_waits(*number, queue.port.waits());
                    }
                }
            }
        }
        let mut punts = Punts::new(now_us);
        self.run_program(at, start, &mut punts);
        let Worker { lanes, cells: worker_cells, batch, made, sampled, pool, queues, stopwatch, .. } = self;
        let lane = &mut *lanes[at];
        if sampling {
            lane.tenant.samples.after(batch, sampled);
        }
        let count = batch.len();
        lane.cells.batches.add(1);
        lane.cells.packets.add(count as u64);
        if alone {
            lane.cells.busy_ns.add(start.elapsed().as_nanos() as u64);
        }
        stopwatch.lap(worker_cells, Stage::Program, count);
        let mut made = made.drain(..).peekable();
        for (place, packet) in batch.drain(..).enumerate() {
            dispatch(packet, lane, pool, queues, &mut punts);
            while let Some((_, copy)) = made.next_if(|(behind, _)| *behind == place) {
                dispatch(copy, lane, pool, queues, &mut punts);
            }
        }
        drop(made);
        lane.cells.digests_lost.add(lane.executor.take_lost_digests());
        if !alone {
            queues.iter_mut().for_each(|queue| queue.end_run(at as u16));
        }
        stopwatch.lap(worker_cells, Stage::Sort, count);
        if alone {
            self.transmit();
            self.stopwatch.lap(&self.cells, Stage::Send, count);
        }
        let lane = &self.lanes[at];
        lane.cells.punted.add(punts.normal + punts.urgent);
        if punts.urgent > 0 {
            lane.tenant.cpu.urgent.notify();
        }
        if punts.normal > 0 {
            lane.tenant.cpu.normal.notify();
        }
        count
    }

    /// Runs the batch. Copies that the program makes are kept with the place they belong to, or sent ahead if there would
    /// be no room for more. When one of several tenants has run for a whole cycle since `start`, what is left of its batch waits again.
    pub(super) fn run_program(&mut self, at: usize, start: Instant, punts: &mut Punts) {
        let mut done = 0;
        let alone = self.lanes.len() == 1;
        let counts_depths =
            self.queues.iter().any(|queue| queue.has_queues) && self.lanes[at].executor.depths().is_some();
        let most = match (counts_depths, alone) {
            (true, _) => MAX_BETWEEN_LOOKS,
            (false, true) => MAX_BATCH,
            (false, false) => UNINTERRUPTED,
        };
        while done < self.batch.len() {
            if done > 0 && !alone && start.elapsed() > CYCLE {
                self.lanes[at].put_back(self.batch.drain(done..));
                return;
            }
            let lane = &mut *self.lanes[at];
            // What other tenants need to receive and to copy is not this one's.
            let kept = if alone { 0 } else { self.pool.available().saturating_sub(lane.frames) };
            self.pool.keep(kept);
            let until = self.batch.len().min(done + most);
            let ran = lane.executor.run(&mut self.batch[done..until], punts.now_us, &mut self.pool);
            lane.ran += ran as u64;
            if counts_depths {
                count_depths(lane, &self.batch[done..done + ran], &self.queues);
            }
            done += ran;
            let made = self.made.len();
            self.made.extend(lane.executor.copies().map(|copy| (done - 1, copy)));
            let lost = lane.executor.take_lost_copies();
            if self.made.len() == made && lost.total() == 0 {
                continue;
            }
            lane.cells.copied.add((self.made.len() - made) as u64 + lost.total());
            lane.cells.no_frame.add(lost.no_frame);
            lane.cells.no_headroom.add(lost.no_headroom);
            lane.cells.faults.add(lost.faults);
            if lane.limited {
                let now_ns = self.started.elapsed().as_nanos() as u64;
                police_copies(lane, &mut self.pool, &mut self.made, made, now_ns);
            }
            let enough = if alone { MAX_BATCH } else { lane.frames / 2 };
            if self.made.len() > MAX_BATCH.min(enough) || self.pool.available() < kept + enough {
                for (_, copy) in self.made.drain(..) {
                    dispatch(copy, lane, &mut self.pool, &mut self.queues, punts);
                }
                if alone {
                    self.transmit();
                } else {
                    self.queues.iter_mut().for_each(|queue| queue.end_run(at as u16));
                    // The turn is this tenant's, and what it takes.
                    self.transmit_shared(Instant::now());
                }
            }
        }
    }
}

/// Counts packets that will wait in egress queues, for those that run after them.
fn count_depths(lane: &mut Lane, packets: &[Packet], queues: &[PortQueue]) {
    let Lane { executor, egress, .. } = lane;
    let Some(depths) = executor.depths() else { return };
    for packet in packets.iter().filter(|packet| packet.verdict() == Verdict::Forward) {
        if let Some(Egress::Port(at)) = egress.get(packet.egress_port() as usize)
            && queues[usize::from(*at)].has_queues
        {
            depths.add(packet.egress_port(), packet.priority());
        }
    }
}

/// Drops, counted, the copies from a place on that the tenant's rate does not allow.
fn police_copies(lane: &Lane, pool: &mut Pool, made: &mut Vec<(usize, Packet)>, from: usize, now_ns: u64) {
    for (_, copy) in made.extract_if(from.., |(_, copy)| !lane.tenant.policer.admit(now_ns, copy.len())) {
        lane.cells.policed.add(1);
        pool.give(copy);
    }
}
