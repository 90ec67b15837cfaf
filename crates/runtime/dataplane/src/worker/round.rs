//! A worker: its rounds, from the ports through the tenants' programs to the ports.
//!
//! A worker runs to completion. With one tenant without limits, a burst from a port goes through the program and out of its
//! egress ports before the next is received. With several, a burst is classified into a [`Lane`] for each tenant; then the
//! [`schedule`](crate::worker::schedule) runs batches of them for a bounded time. Per packet a worker neither allocates, locks,
//! logs nor blocks.

use std::fmt;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_abi::Verdict;

use crate::executor::traffic::MAX_COPIES;
use crate::executor::wall_clock_us;
use crate::observe::sample::Held;
use crate::observe::stats::{Stage, Stopwatch, WorkerCells};
use crate::packet::{MAX_BATCH, Packet, Pool};
use crate::trace::respecialise::start_respecialiser;
use crate::worker::classifier::{Classifier, MAX_TENANTS, PortRules, Slot, Table};
use crate::worker::lane::{Egress, Lane, MAX_WAITING, NO_LANE};
use crate::worker::poll_backoff::{Next, PollBackoff};
use crate::worker::port_queue::{Change, Mailbox, PortQueue, Retired};
use crate::worker::schedule::{CYCLE, without_lost};
use crate::worker::switch::Switch;
use crate::worker::tenant::{Cpu, Urgency};
use crate::worker::wait::{self, LostTime, Sleeper};

/// How long a worker sleeps at most before it looks whether it is to stop.
const NAP: Duration = Duration::from_millis(50);
/// What wakes a worker besides its ports, as bits of a [`Sleeper`].
const MAILBOX: u64 = 1;
const INJECTED: u64 = 2;
/// Time between two looks at a device's own counters.
const REFRESH: Duration = Duration::from_millis(200);
/// Busy rounds after which a worker looks whether it is time for one.
const REFRESH_ROUNDS: u32 = 64;

/// Packets of several tenants for one port, from which on they are sent at once.
const ENOUGH_TO_SEND: usize = 64;

/// Most packets of one of several tenants that run without a look at the time.
const UNINTERRUPTED: usize = 64;

/// Most packets that run without a look at the egress queues, if there are some and the program asks how long they are.
const MAX_BETWEEN_LOOKS: usize = 4;

/// Packets handed to the control plane, by queue.
struct Punts {
    /// Time of their batch.
    now_us: u64,
    normal: u64,
    urgent: u64,
}

impl Punts {
    fn new(now_us: u64) -> Punts {
        Punts { now_us, normal: 0, urgent: 0 }
    }

    fn add(&mut self, cpu: &Cpu, urgency: Urgency, bytes: &[u8], ingress_port: u32) {
        let handed = u64::from(cpu.queue(urgency).punt(bytes, ingress_port, self.now_us));
        match urgency {
            Urgency::Normal => self.normal += handed,
            Urgency::Urgent => self.urgent += handed,
        }
    }
}

/// Moves packets of a switch: what its ports' objects for this worker receive.
pub struct Worker {
    /// Among the switch's workers. The first also takes what the control plane sends.
    index: usize,
    switch: Arc<Switch>,
    cells: Arc<WorkerCells>,
    #[expect(clippy::vec_box, reason = "the control side makes lanes, and drops them")]
    lanes: Vec<Box<Lane>>,
    /// Places in `lanes` by slot of the tenant, or [`NO_LANE`].
    by_slot: [u8; MAX_TENANTS],
    classifier: Arc<Classifier>,
    /// The lane whose turn in a sweep is first.
    next_lane: usize,
    /// When to look at the ports again, though packets wait in lanes. None: nothing has been served in this round.
    round_ends: Option<Instant>,
    /// Packets of several tenants wait, and ports that they share can wait, too.
    behind: bool,
    /// A lane is paused.
    paused: bool,
    /// When a generator makes the next packet, if one does.
    due: Option<Instant>,
    lost_time: LostTime,
    started: Instant,
    pool: Pool,
    batch: Vec<Packet>,
    /// The lanes of a burst's packets.
    sorted: [u8; MAX_BATCH],
    /// Copies that the program made, and behind which packet of the batch they come.
    made: Vec<(usize, Packet)>,
    sampled: Held,
    limit: usize,
    queues: Vec<PortQueue>,
    /// None if not every port can wake it.
    sleeper: Option<Sleeper>,
    backoff: PollBackoff,
    refresh_in: u32,
    refreshed: Instant,
    refresh_next: usize,
    stopwatch: Stopwatch,
}

impl Worker {
    /// `queues`: its part of the ports; `limit`: packets in a batch.
    pub(crate) fn new(
        index: usize,
        switch: &Arc<Switch>,
        pool: Pool,
        queues: Vec<PortQueue>,
        limit: usize,
        longest_rest: Option<Duration>,
    ) -> Worker {
        let mut worker = Worker {
            index,
            cells: switch.cells(index).clone(),
            switch: switch.clone(),
            lanes: Vec::with_capacity(MAX_TENANTS),
            by_slot: [NO_LANE; MAX_TENANTS],
            classifier: Arc::default(),
            next_lane: 0,
            round_ends: None,
            behind: false,
            paused: false,
            due: None,
            lost_time: LostTime::new(),
            started: switch.started(),
            pool,
            batch: Vec::with_capacity(MAX_BATCH),
            sorted: [NO_LANE; MAX_BATCH],
            made: Vec::with_capacity(MAX_BATCH + MAX_COPIES),
            sampled: Held::new(),
            limit,
            queues,
            sleeper: None,
            backoff: PollBackoff::new(longest_rest, limit),
            refresh_in: REFRESH_ROUNDS,
            refreshed: Instant::now(),
            refresh_next: 0,
            stopwatch: Stopwatch::new(),
        };
        worker.take_up_changes();
        worker
    }

    /// Works until the switch is stopped, or every port is finished and nothing is left to do.
    pub fn run(&mut self) {
        wait::sharpen_timers();
        wait::shorten_slice();
        if self.index == 0 {
            self.switch.start_adapting(start_respecialiser);
        }
        self.mailbox().set_running(true);
        while !self.switch.stopping() {
            let count = self.step();
            if count == 0
                && !self.queues.is_empty()
                && self.queues.iter().all(|l| l.port.finished())
                && !self.has_injected()
                && !self.has_waiting()
                && !self.mailbox().changing()
            {
                break;
            }
            match self.backoff.next(count, Instant::now) {
                _ if self.has_waiting() => std::hint::spin_loop(),
                Next::Now => std::hint::spin_loop(),
                Next::Rest(_) if self.sleeper.is_none() => {}
                Next::Rest(time) => {
                    wait::rest(self.until_due().map_or(time, |due| due.min(time)));
                    self.wake_up();
                }
                Next::Sleep => {
                    self.sleep();
                    self.wake_up();
                }
            }
        }
        let Worker { lanes, pool, .. } = self;
        lanes.iter_mut().for_each(|lane| lane.shorten(0, pool));
        self.mailbox().set_running(false);
        for queue in &mut self.queues {
            queue.port.flush();
        }
        for queue in &mut self.queues {
            queue.refresh();
        }
    }

    /// Whether its ports take packets from their devices. To be called while it does not run.
    pub fn set_intake(&mut self, open: bool) {
        self.queues.iter_mut().for_each(|queue| queue.port.set_intake(open));
    }

    /// Brings what it has taken in, and what the control plane has sent, to its egress ports. To be called while it does not run,
    /// with its intake closed. Returns whether there was something: then there may be more.
    pub fn finish_packets(&mut self) -> bool {
        let some = self.step() > 0;
        let mut waits = self.has_injected() || self.has_waiting();
        for queue in &mut self.queues {
            queue.port.flush();
            waits |= queue.port.pending();
        }
        some || waits
    }

    fn mailbox(&self) -> &Mailbox {
        &self.switch.workers().mailboxes()[self.index]
    }

    fn has_injected(&self) -> bool {
        self.index == 0 && self.lanes.iter().any(|lane| lane.tenant.injection_queues().has_packets())
    }

    /// Whether packets wait for their tenant's turn.
    pub fn has_waiting(&self) -> bool {
        self.lanes.iter().any(|lane| lane.has_packets())
    }

    /// Time until a generator makes the next packet, if one does.
    fn until_due(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// What it slept is not lost.
    fn wake_up(&mut self) {
        if self.lanes.len() > 1 {
            self.lost_time = LostTime::new();
        }
    }

    /// Sleeps until something comes, if every port can wake it and has sent everything.
    fn sleep(&mut self) {
        if self.refresh() {
            return;
        }
        match &self.sleeper {
            Some(sleeper) if !self.queues.iter_mut().any(|queue| queue.port.pending()) => {
                if let Some(time) = self.until_due() {
                    sleeper.wake_after(time);
                }
                let woken_by = sleeper.sleep();
                if woken_by & MAILBOX != 0 {
                    self.mailbox().wakeup().clear();
                }
                if woken_by & INJECTED != 0 {
                    for lane in &self.lanes {
                        lane.tenant.injection_queues().normal.clear_wakeup();
                        lane.tenant.injection_queues().urgent.clear_wakeup();
                    }
                }
            }
            _ => std::thread::yield_now(),
        }
    }

    /// One round: a burst from every port and from the control planes, through the programs and out. Returns the number
    /// of packets taken in.
    pub fn step(&mut self) -> usize {
        if self.mailbox().changing() {
            self.take_up_changes();
        }
        if self.mailbox().is_called() {
            self.take_up_handovers();
        }
        if self.paused {
            self.resume();
        }
        let mut total = 0;
        self.round_ends = None;
        self.behind = self.is_behind();
        self.cells.rounds.add(1);
        for index in 0..self.queues.len() {
            let limit = self.intake(index);
            if limit == 0 {
                continue;
            }
            let queue = &mut self.queues[index];
            self.stopwatch.start();
            let count = queue.port.receive(&mut self.pool, &mut self.batch, limit);
            if count == 0 {
                self.stopwatch.cancel();
                continue;
            }
            match self.only_lane(index) {
                Some(number) => self.take_burst(index, number),
                None => self.classify(index),
            }
            self.stopwatch.finish();
            total += count;
        }
        if self.index == 0 {
            for lane in 0..self.lanes.len() {
                total += self.inject(lane);
            }
            if self.due.is_some() {
                total += self.generate();
            }
        }
        // What is left of earlier bursts.
        if self.has_waiting() {
            self.serve(Instant::now());
        }
        self.refresh_in = self.refresh_in.wrapping_sub(1);
        if self.refresh_in == 0 {
            self.refresh();
        }
        total
    }

    /// Whether so many packets wait that it is not for one tenant alone: the worker was interrupted, and its ports can wait.
    fn is_behind(&self) -> bool {
        let (mut waiting, mut most) = (0, 0);
        for lane in self.lanes.iter().filter(|lane| !lane.paused) {
            waiting += lane.frames.saturating_sub(lane.room());
            most += lane.frames;
        }
        waiting > 0 && waiting >= most / 4 * 3
    }

    /// How many packets to receive from a port. What there is no room for stays in the queue of the device if all of it is one tenant's,
    /// or nobody's in particular: a worker that was interrupted catches up without loss, and a flood costs it no time.
    #[inline]
    fn intake(&self, queue: usize) -> usize {
        let PortRules::One(slot) = self.classifier.port(self.queues[queue].number) else {
            return if self.behind { 0 } else { self.limit };
        };
        let lane = self.lanes.get(usize::from(self.by_slot[usize::from(*slot)]));
        lane.map_or(self.limit, |lane| lane.room().min(self.limit))
    }

    /// The number of a port in the program of the only tenant, if all frames of the port are its, nothing limits it and
    /// nothing waits.
    #[inline]
    fn only_lane(&self, queue: usize) -> Option<u32> {
        let [lane] = &self.lanes[..] else { return None };
        let PortRules::One(_) = self.classifier.port(self.queues[queue].number) else { return None };
        if lane.limited || lane.has_packets() || lane.paused { None } else { lane.numbers[queue] }
    }

    /// Runs a burst that is all of the only tenant.
    fn take_burst(&mut self, index: usize, number: u32) {
        let (queue, lane) = (&self.queues[index], &self.lanes[0]);
        let count = self.batch.len() as u64;
        let mut bytes = 0;
        for packet in &mut self.batch {
            packet.set_ingress_port(number);
            bytes += packet.len() as u64;
        }
        queue.cells.rx_packets.add(count);
        queue.cells.rx_bytes.add(bytes);
        lane.cells.rx_packets.add(count);
        lane.cells.rx_bytes.add(bytes);
        self.stopwatch.lap(&self.cells, Stage::Receive, count as usize);
        self.process(0, Instant::now(), wall_clock_us());
    }

    /// Sorts a burst by tenant, and runs what there is time for.
    fn classify(&mut self, index: usize) {
        let begun = Instant::now();
        let Worker { queues, cells, lanes, by_slot, classifier, pool, batch, sorted, started, .. } = self;
        let now_ns = begun.duration_since(*started).as_nanos() as u64;
        let queue = &queues[index];
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
                    true => copy_group(packet, slot, table, lanes, lane_of, pool, cells, index, now_ns),
                    false => slot,
                });
            }),
            // Nothing else in this loop, so that the processor reads the headers of several packets at the same time.
            PortRules::Several(table) => sorted.for_each(|(found, packet)| *found = lane_of(table.tenant(packet))),
        }
        lanes.iter_mut().for_each(|lane| lane.begin_burst(index));
        let (count, mut bytes, mut strays) = (batch.len(), 0, 0);
        for (packet, lane) in batch.drain(..).zip(&self.sorted) {
            bytes += packet.len() as u64;
            let refused = match lanes.get_mut(usize::from(*lane)) {
                Some(lane) => lane.take_in(packet, now_ns),
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

    /// Runs packets that wait in lanes, in turn, until there are none or the round's time is up: once at least. Each lane then
    /// keeps what it may hold.
    fn serve(&mut self, begun: Instant) {
        let now_us = wall_clock_us();
        let ends = *self.round_ends.get_or_insert(begun + CYCLE);
        let mut now = begun;
        loop {
            let (mut served, mut left) = (false, false);
            for turn in 0..self.lanes.len() {
                let at = (self.next_lane + turn) % self.lanes.len();
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
        self.next_lane = (self.next_lane + 1) % self.lanes.len().max(1);
        self.transmit_shared(now);
        let Worker { lanes, pool, .. } = self;
        for lane in lanes {
            lane.count();
            lane.keep_rest(pool);
        }
    }

    /// Lets sweeps go by in which no lane could be served.
    #[cold]
    fn skip_sweeps(&mut self) {
        let waiting = || self.lanes.iter().filter(|lane| lane.has_packets() && !lane.paused);
        let sweeps = waiting().map(|lane| lane.account.sweeps_in_debt()).min().unwrap_or(0);
        for lane in self.lanes.iter_mut().filter(|lane| lane.has_packets() && !lane.paused) {
            lane.account.skip(sweeps);
        }
    }

    /// Runs batches of a lane while its account is in credit. `now`: when the turn begins; gives when it ends.
    fn take_turn(&mut self, at: usize, mut now: Instant, now_us: u64) -> Instant {
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

    /// Sends what waits in the port queues, which is of several tenants. The time since `begun` is theirs, by packets.
    fn transmit_shared(&mut self, begun: Instant) {
        let Worker { lanes, queues, pool, lost_time, .. } = self;
        let mut packets = 0;
        for queue in queues.iter_mut().filter(|queue| !queue.out.is_empty()) {
            packets += queue.send_runs(pool, |run, sent, bytes| {
                let lane = &mut lanes[usize::from(run.lane)];
                lane.cells.count_sent(sent, bytes, run.packets - sent);
                lane.sent += run.packets;
            });
        }
        if packets == 0 {
            return;
        }
        // What the worker lost is nobody's, so it is asked once for all.
        let expected = lanes.iter().map(|lane| lane.account.expected_sending(lane.ran)).sum();
        let ns = without_lost(begun.elapsed().as_nanos() as u64, expected, || lost_time.take());
        for lane in lanes.iter_mut().filter(|lane| lane.sent + lane.ran > 0) {
            let (sent, ran) = (std::mem::take(&mut lane.sent), std::mem::take(&mut lane.ran));
            lane.account.debit_sending(ns * sent / packets.max(sent), ran);
        }
    }

    /// Takes up new programs, and pauses tenants that are to be.
    #[cold]
    fn take_up_handovers(&mut self) {
        let mailbox = &self.switch.workers().mailboxes()[self.index];
        mailbox.answer();
        let several = self.lanes.len() > 1;
        for lane in &mut self.lanes {
            let Lane { tenant, executor, paused, .. } = &mut **lane;
            let handover = tenant.handover(self.index);
            let pause = handover.take_up(executor);
            executor.set_max_passes(tenant.max_passes());
            if !pause {
                continue;
            }
            *paused = several;
            self.paused |= several;
            while !several && handover.is_paused() && !self.switch.stopping() {
                std::thread::yield_now();
            }
        }
    }

    /// Ends pauses.
    #[cold]
    fn resume(&mut self) {
        self.paused = false;
        for lane in &mut self.lanes {
            lane.paused = lane.paused && lane.tenant.handover(self.index).is_paused();
            self.paused |= lane.paused;
        }
    }

    /// Takes up changes of ports and tenants and gives back what it no longer uses. Between rounds nothing waits in a port
    /// queue.
    #[cold]
    fn take_up_changes(&mut self) {
        while let Some(change) = self.mailbox().next_change() {
            match change {
                Change::AddPort(queue) => self.queues.push(queue),
                Change::RemovePort(number) => {
                    let Some(at) = self.queues.iter().position(|l| l.number == number) else { continue };
                    let mut queue = self.queues.swap_remove(at);
                    queue.port.flush();
                    queue.port.discard(&mut self.pool);
                    let _ = queue.refresh();
                    self.mailbox().give_back(queue);
                }
                Change::AddTenant(lane) => self.lanes.push(lane),
                Change::RemoveTenant(slot) => {
                    let Some(at) = self.lanes.iter().position(|lane| lane.slot == slot) else { continue };
                    let mut lane = self.lanes.remove(at);
                    lane.count();
                    lane.shorten(0, &mut self.pool);
                    self.mailbox().retire(Retired::Lane(lane));
                }
                Change::Classify(classifier) => {
                    let old = std::mem::replace(&mut self.classifier, classifier);
                    self.mailbox().retire(Retired::Classifier(old));
                }
                Change::Limit => {}
                Change::Generate(slot, generator) => {
                    let Some(lane) = self.lanes.iter_mut().find(|lane| lane.slot == slot) else { continue };
                    if let Some(unused) = lane.set_generator(generator) {
                        lane.tenant.give_back(unused);
                    }
                }
            }
        }
        self.due = self.lanes.iter().filter_map(|lane| lane.due()).min();
        self.next_lane = 0;
        self.by_slot = [NO_LANE; MAX_TENANTS];
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            lane.connect(&self.queues);
            if let Some(depths) = lane.executor.depths() {
                depths.clear();
            }
            self.by_slot[usize::from(lane.slot)] = at as u8;
        }
        self.share();
        self.watch_ports();
        // A call for a tenant may have come before it.
        self.take_up_handovers();
    }

    /// Divides time and frames among the tenants.
    fn share(&mut self) {
        let weights = || self.lanes.iter().map(|lane| lane.tenant.share().0);
        let sum = weights().map(u64::from).sum::<u64>().max(1);
        let smallest = weights().min().unwrap_or(1);
        let (frames, tenants) = (u64::from(self.pool.frames()), self.lanes.len().max(1) as u64);
        for lane in &mut self.lanes {
            let (weight, most) = lane.tenant.share();
            lane.account.set_weight(weight, sum, smallest);
            lane.executor.set_max_passes(lane.tenant.max_passes());
            lane.limited = lane.tenant.is_limited();
            lane.frames = most.map_or(frames / 2 / tenants, u64::from).min(MAX_WAITING as u64) as usize;
        }
    }

    /// Sleeps on the ports there are now. Without descriptors to do so the worker goes on without sleeping.
    fn watch_ports(&mut self) {
        self.backoff.set_ports(self.queues.len());
        self.sleeper = self.sleeper();
    }

    fn sleeper(&self) -> Option<Sleeper> {
        let sleeper = Sleeper::new(NAP).ok()?;
        sleeper.add(self.mailbox().wakeup().as_fd(), MAILBOX).ok()?;
        if self.index == 0 {
            for lane in &self.lanes {
                sleeper.add(lane.tenant.injection_queues().normal.wake_fd(), INJECTED).ok()?;
                sleeper.add(lane.tenant.injection_queues().urgent.wake_fd(), INJECTED).ok()?;
            }
        }
        for queue in &self.queues {
            sleeper.add(queue.port.poll_fd()?, 0).ok()?;
            if let Some(fd) = queue.port.urgent_poll_fd() {
                sleeper.add(fd, 0).ok()?;
            }
        }
        Some(sleeper)
    }

    /// Takes what a tenant's control plane sends.
    fn inject(&mut self, at: usize) -> usize {
        if !self.lanes[at].tenant.injection_queues().has_packets() {
            return 0;
        }
        let alone = self.lanes.len() == 1;
        let begun = Instant::now();
        let mut count = 0;
        let Worker { lanes, pool, batch, limit, queues, .. } = self;
        let lane = &mut *lanes[at];
        let most = if alone { *limit } else { lane.room().min(*limit) };
        let Lane { tenant, cells, egress, .. } = lane;
        let inject = tenant.injection_queues();
        while count < most {
            let mut place = |bytes: &[u8], port: u32, raw: bool| {
                let filled = pool.take_filled(bytes).map(|mut p| {
                    p.set_ingress_port(port);
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
            if !inject.urgent.take(&mut place) && !inject.normal.take(&mut place) {
                break;
            }
            count += 1;
        }
        cells.injected.add(count as u64);
        match alone {
            true => self.transmit(),
            false => queues.iter_mut().for_each(|queue| queue.end_run(at as u8)),
        }
        self.run_made(at, begun);
        count
    }

    /// Runs a batch that did not come from a port.
    fn run_made(&mut self, at: usize, begun: Instant) {
        if self.lanes.len() == 1 && !self.lanes[at].has_packets() && !self.lanes[at].paused {
            if !self.batch.is_empty() {
                self.process(at, Instant::now(), wall_clock_us());
            }
            return;
        }
        let Worker { lanes, pool, batch, lost_time, .. } = self;
        let lane = &mut *lanes[at];
        for packet in batch.drain(..) {
            lane.wait(packet).into_iter().for_each(|packet| pool.give(packet));
        }
        lane.account.debit(begun.elapsed().as_nanos() as u64, 0, || lost_time.take());
        self.serve(Instant::now());
    }

    /// Runs packets that generators make now.
    #[cold]
    fn generate(&mut self) -> usize {
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
                    Some(packet) if *limited && !tenant.policer().admit(now_ns, packet.len()) => {
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

    /// Runs the batch, which is of one tenant, and sorts what comes out by port. Of the only tenant it is sent; of one of
    /// several it waits to be sent with what comes of the others. `start`: the time now, as `now_us` is for programs. Returns how many
    /// packets have run.
    fn process(&mut self, at: usize, start: Instant, now_us: u64) -> usize {
        let alone = self.lanes.len() == 1;
        let lane = &mut *self.lanes[at];
        let sampling = lane.tenant.samples().wanted();
        if sampling {
            lane.tenant.samples().before(&self.batch, now_us, &mut self.sampled);
        }
        if let Some(depths) = lane.executor.depths() {
            for (queue, number) in self.queues.iter_mut().zip(&lane.numbers) {
                if let Some(number) = number {
                    depths.set(*number, queue.port.depths());
                }
            }
        }
        let mut punts = Punts::new(now_us);
        self.run_program(at, start, &mut punts);
        let Worker { lanes, cells: worker_cells, batch, made, sampled, pool, queues, stopwatch, .. } = self;
        let lane = &mut *lanes[at];
        if sampling {
            lane.tenant.samples().after(batch, sampled);
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
            queues.iter_mut().for_each(|queue| queue.end_run(at as u8));
        }
        stopwatch.lap(worker_cells, Stage::Sort, count);
        if alone {
            self.transmit();
            self.stopwatch.lap(&self.cells, Stage::Send, count);
        }
        let lane = &self.lanes[at];
        lane.cells.punted.add(punts.normal + punts.urgent);
        if punts.urgent > 0 {
            lane.tenant.cpu_queues().urgent.notify();
        }
        if punts.normal > 0 {
            lane.tenant.cpu_queues().normal.notify();
        }
        count
    }

    /// Runs the batch. Copies that the program makes are kept with the place they belong to, or sent ahead if there would
    /// be no room for more. When one of several tenants has run for a whole cycle since `start`, what is left of its batch waits again.
    fn run_program(&mut self, at: usize, start: Instant, punts: &mut Punts) {
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
                    self.queues.iter_mut().for_each(|queue| queue.end_run(at as u8));
                    // The turn is this tenant's, and what it takes.
                    self.transmit_shared(Instant::now());
                }
            }
        }
    }

    /// Sends what waits in the port queues, which is all of the only tenant.
    fn transmit(&mut self) {
        let (mut all_packets, mut all_bytes, mut all_lost) = (0, 0, 0);
        for queue in &mut self.queues {
            if queue.out.is_empty() {
                continue;
            }
            let count = queue.out.len();
            let bytes: u64 = queue.out.iter().map(|p| p.len() as u64).sum();
            let sent = queue.port.transmit(&mut self.pool, &mut queue.out);
            queue.port.flush();
            // Lost packets are rare; their bytes are taken as average.
            let bytes = if sent == count { bytes } else { bytes * sent as u64 / count as u64 };
            let lost = (count - sent) as u64;
            queue.cells.count_sent(sent as u64, bytes, lost);
            all_bytes += bytes;
            all_packets += sent as u64;
            all_lost += lost;
        }
        if let [lane] = &self.lanes[..] {
            lane.cells.count_sent(all_packets, all_bytes, all_lost);
        }
    }

    /// Looks at the counters of one device, in turn, if it is time: of all at once would keep packets waiting.
    fn refresh(&mut self) -> bool {
        self.refresh_in = REFRESH_ROUNDS;
        let each = REFRESH / self.queues.len().max(1) as u32;
        let elapsed = self.refreshed.elapsed();
        if elapsed < each || self.queues.is_empty() {
            return false;
        }
        // What was left out for a while is not made up for more than once.
        self.refreshed += each.max(elapsed.saturating_sub(REFRESH));
        self.refresh_next = (self.refresh_next + 1) % self.queues.len();
        let at = self.refresh_next;
        if self.queues[at].refresh() && self.index == 0 {
            let now = Instant::now();
            for lane in &mut self.lanes {
                if let Some(port) = lane.numbers[at] {
                    lane.port_down(port, now);
                }
            }
            self.due = self.lanes.iter().filter_map(|lane| lane.due()).min();
        }
        true
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

/// Copies a frame to the tenants that ask for frames to its group address. Returns whose the frame itself is.
#[cold]
#[expect(clippy::too_many_arguments, reason = "parts of a worker that are borrowed apart")]
fn copy_group(
    packet: &Packet,
    slot: Option<Slot>,
    table: &Table,
    lanes: &mut [Box<Lane>],
    lane_of: impl Fn(Option<Slot>) -> u8,
    pool: &mut Pool,
    cells: &WorkerCells,
    queue: usize,
    now_ns: u64,
) -> Option<Slot> {
    // A frame that is no tenant's goes to one of them.
    let slot = slot.or_else(|| table.copies(packet.bytes()).next());
    for further in table.copies(packet.bytes()).filter(|further| Some(*further) != slot) {
        cells.group_copies.add(1);
        let Some(lane) = lanes.get_mut(usize::from(lane_of(Some(further)))) else { continue };
        let copy = if lane.room() > 0 { pool.take_filled(packet.bytes()) } else { None };
        match copy {
            Some(copy) => lane.take_in_copy(copy, queue, now_ns).into_iter().for_each(|copy| pool.give(copy)),
            None => lane.lose_copy(packet.len()),
        }
    }
    slot
}

/// Drops, counted, the copies from a place on that the tenant's rate does not allow.
fn police_copies(lane: &Lane, pool: &mut Pool, made: &mut Vec<(usize, Packet)>, from: usize, now_ns: u64) {
    for (_, copy) in made.extract_if(from.., |(_, copy)| !lane.tenant.policer().admit(now_ns, copy.len())) {
        lane.cells.policed.add(1);
        pool.give(copy);
    }
}

/// Brings a packet that the program is done with to where it goes.
#[inline]
fn dispatch(packet: Packet, lane: &Lane, pool: &mut Pool, queues: &mut [PortQueue], punts: &mut Punts) {
    let cells = &*lane.cells;
    if packet.parser_error() != 0
        && let Some(cell) = cells.parser_errors.get(packet.parser_error() as usize)
    {
        cell.add(1);
    }
    let lost = match packet.verdict() {
        Verdict::Forward => match lane.egress.get(packet.egress_port() as usize) {
            Some(Egress::Port(at)) => {
                queues[usize::from(*at)].out.push(packet);
                return;
            }
            Some(Egress::Cpu(urgency)) => {
                punts.add(lane.tenant.cpu_queues(), *urgency, packet.bytes(), packet.ingress_port());
                pool.give(packet);
                return;
            }
            _ => &cells.no_such_port,
        },
        Verdict::Drop => &cells.dropped_by_program,
        Verdict::NoHeadroom => &cells.no_headroom,
        Verdict::Fault => &cells.faults,
    };
    lost.add(1);
    pool.give(packet);
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("switch", &self.switch).field("pool", &self.pool).finish_non_exhaustive()
    }
}
