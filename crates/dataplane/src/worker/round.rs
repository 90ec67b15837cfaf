//! A worker: its rounds, from the ports through the tenants' programs to the ports.
//!
//! A worker runs to completion: a burst from a port goes through the program and out of its egress ports before the next is
//! received. Per packet it neither allocates, locks, logs nor blocks.

use std::fmt;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_abi::Verdict;

use crate::executor::traffic::MAX_COPIES;
use crate::executor::{Executor, wall_clock_us};
use crate::observe::sample::Held;
use crate::observe::stats::{Stage, Stopwatch, WorkerCells};
use crate::packet::{MAX_BATCH, Packet, Pool};
use crate::trace::respecialise::start_respecialiser;
use crate::worker::lane::{Egress, Lane};
use crate::worker::poll_backoff::{Next, PollBackoff};
use crate::worker::port_queue::{Change, Mailbox, PortQueue, Returned};
use crate::worker::switch::Switch;
use crate::worker::tenant::{Cpu, Urgency};
use crate::worker::wait::{self, Sleeper};

/// How long a worker sleeps at most before it looks whether it is to stop.
const NAP: Duration = Duration::from_millis(50);
/// What wakes a worker besides its ports, as bits of a [`Sleeper`].
const MAILBOX: u64 = 1;
const INJECTED: u64 = 2;
/// Time between two looks at a device's own counters.
const REFRESH: Duration = Duration::from_millis(200);
/// Busy rounds after which a worker looks whether it is time for one.
const REFRESH_ROUNDS: u32 = 64;

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
    lanes: Vec<Box<Lane>>,
    pool: Pool,
    batch: Vec<Packet>,
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
    /// `queues`: its part of the ports; `lane`: that of its first tenant; `limit`: packets in a batch.
    pub(crate) fn new(
        index: usize,
        switch: &Arc<Switch>,
        pool: Pool,
        queues: Vec<PortQueue>,
        mut lane: Box<Lane>,
        limit: usize,
        longest_rest: Option<Duration>,
    ) -> Worker {
        lane.connect(&queues);
        let mut worker = Worker {
            index,
            cells: switch.cells(index).clone(),
            switch: switch.clone(),
            lanes: vec![lane],
            pool,
            batch: Vec::with_capacity(MAX_BATCH),
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
        worker.watch_ports();
        worker
    }

    /// Works until the switch is stopped, or every port is finished and nothing is left to do.
    pub fn run(&mut self) {
        wait::sharpen_timers();
        if self.index == 0 {
            start_respecialiser(&self.switch);
        }
        self.mailbox().set_running(true);
        while !self.switch.stopping() {
            let count = self.step();
            if count == 0
                && !self.queues.is_empty()
                && self.queues.iter().all(|l| l.port.finished())
                && !self.has_injected()
                && !self.mailbox().changing()
            {
                break;
            }
            match self.backoff.next(count, Instant::now) {
                Next::Now => std::hint::spin_loop(),
                Next::Rest(time) if self.sleeper.is_some() => wait::rest(time),
                Next::Rest(_) => {}
                Next::Sleep => self.sleep(),
            }
        }
        self.mailbox().set_running(false);
        for queue in &mut self.queues {
            queue.port.flush();
        }
        self.queues.iter().for_each(PortQueue::refresh);
    }

    fn mailbox(&self) -> &Mailbox {
        &self.switch.workers().mailboxes()[self.index]
    }

    fn has_injected(&self) -> bool {
        self.index == 0 && self.lanes.iter().any(|lane| lane.tenant.from_cpu().has_packets())
    }

    /// Sleeps until something comes, if every port can wake it and has sent everything.
    fn sleep(&mut self) {
        if self.refresh() {
            return;
        }
        match &self.sleeper {
            Some(sleeper) if !self.queues.iter_mut().any(|queue| queue.port.pending()) => {
                let woken_by = sleeper.sleep();
                if woken_by & MAILBOX != 0 {
                    self.mailbox().wakeup().clear();
                }
                if woken_by & INJECTED != 0 {
                    for lane in &self.lanes {
                        lane.tenant.from_cpu().normal.clear_wakeup();
                        lane.tenant.from_cpu().urgent.clear_wakeup();
                    }
                }
            }
            _ => std::thread::yield_now(),
        }
    }

    /// One round: a burst from every port and from the control plane, through the program and out. Returns the number
    /// of packets taken in.
    pub fn step(&mut self) -> usize {
        if self.mailbox().changing() {
            self.change_ports();
        }
        if self.mailbox().is_called() {
            self.attend();
        }
        let mut total = 0;
        self.cells.rounds.add(1);
        for index in 0..self.queues.len() {
            let queue = &mut self.queues[index];
            self.stopwatch.start();
            let count = queue.port.receive(&mut self.pool, &mut self.batch, self.limit);
            if count == 0 {
                self.stopwatch.cancel();
                continue;
            }
            let lane = &self.lanes[0];
            let number = lane.numbers[index].unwrap_or_default();
            let mut bytes = 0;
            for packet in &mut self.batch {
                packet.set_ingress_port(number);
                bytes += packet.len() as u64;
            }
            queue.cells.rx_packets.add(count as u64);
            queue.cells.rx_bytes.add(bytes);
            lane.cells.rx_packets.add(count as u64);
            lane.cells.rx_bytes.add(bytes);
            self.stopwatch.lap(&self.cells, Stage::Receive, count);
            self.process(0);
            self.stopwatch.finish();
            total += count;
        }
        if self.index == 0 {
            for lane in 0..self.lanes.len() {
                total += self.inject(lane);
            }
        }
        self.refresh_in = self.refresh_in.wrapping_sub(1);
        if self.refresh_in == 0 {
            self.refresh();
        }
        total
    }

    /// The executor of the first tenant, to look at the data plane.
    pub fn executor(&self) -> &Executor {
        &self.lanes[0].executor
    }

    /// Takes up new programs, and waits while a tenant is to be paused.
    #[cold]
    fn attend(&mut self) {
        let mailbox = &self.switch.workers().mailboxes()[self.index];
        mailbox.answer();
        for lane in &mut self.lanes {
            let Lane { tenant, executor, .. } = &mut **lane;
            let handover = tenant.handover(self.index);
            if handover.attend(executor) {
                while handover.is_paused() && !self.switch.stopping() {
                    std::thread::yield_now();
                }
            }
        }
    }

    /// Takes up new ports and gives those back that are to go. Between rounds nothing waits in a queue.
    #[cold]
    fn change_ports(&mut self) {
        while let Some(change) = self.mailbox().next_change() {
            match change {
                Change::AddPort(queue) => self.queues.push(queue),
                Change::RemovePort(number) => {
                    let Some(at) = self.queues.iter().position(|l| l.number == number) else { continue };
                    let mut queue = self.queues.swap_remove(at);
                    queue.port.flush();
                    queue.refresh();
                    self.mailbox().give_back(Returned::Port(queue));
                }
            }
        }
        self.lanes.iter_mut().for_each(|lane| lane.connect(&self.queues));
        self.watch_ports();
    }

    /// Sleeps on the ports there are now. Without descriptors to do so the worker goes on without sleeping.
    fn watch_ports(&mut self) {
        self.backoff.set_ports(self.queues.len());
        self.sleeper = self.sleeper();
    }

    fn sleeper(&self) -> Option<Sleeper> {
        let sleeper = Sleeper::new(NAP).ok()?;
        sleeper.add(self.mailbox().wakeup().as_raw_fd(), MAILBOX).ok()?;
        if self.index == 0 {
            for lane in &self.lanes {
                sleeper.add(lane.tenant.from_cpu().normal.wake_fd(), INJECTED).ok()?;
                sleeper.add(lane.tenant.from_cpu().urgent.wake_fd(), INJECTED).ok()?;
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
        let mut count = 0;
        let mut direct = 0;
        let Worker { lanes, pool, batch, limit, queues, .. } = self;
        let Lane { tenant, cells, egress, .. } = &*lanes[at];
        let inject = tenant.from_cpu();
        while count < *limit {
            let mut place = |bytes: &[u8], port: u32, raw: bool| {
                let filled = pool.take_filled(bytes).map(|mut p| {
                    p.set_ingress_port(port);
                    p
                });
                match (filled, raw, egress.get(port as usize)) {
                    (None, ..) => cells.no_frame.add(1),
                    (Some(p), false, _) => batch.push(p),
                    (Some(p), true, Some(Egress::Port(at))) => {
                        queues[usize::from(*at)].out.push(p);
                        direct += 1;
                    }
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
        if count > 0 {
            cells.injected.add(count as u64);
            if direct > 0 {
                self.transmit(at);
            }
            if !self.batch.is_empty() {
                self.process(at);
            }
        }
        count
    }

    /// Runs the batch, which is of one tenant, and sends what comes out.
    fn process(&mut self, at: usize) {
        let start = Instant::now();
        let now_us = wall_clock_us();
        let lane = &mut *self.lanes[at];
        let sampling = lane.tenant.samples().wanted();
        if sampling {
            lane.tenant.samples().before(&self.batch, now_us, &mut self.sampled);
        }
        if let Some(depths) = lane.executor.depths() {
            depths.clear();
            for (queue, number) in self.queues.iter_mut().zip(&lane.numbers) {
                if let Some(number) = number {
                    depths.set(*number, queue.port.backlog());
                }
            }
        }
        let mut punts = Punts::new(now_us);
        self.run_program(at, &mut punts);
        let Worker { lanes, cells: worker_cells, batch, made, sampled, pool, queues, stopwatch, .. } = self;
        let lane = &mut *lanes[at];
        if sampling {
            lane.tenant.samples().after(batch, sampled);
        }
        let count = batch.len();
        lane.cells.batches.add(1);
        lane.cells.packets.add(count as u64);
        lane.cells.busy_ns.add(start.elapsed().as_nanos() as u64);
        stopwatch.lap(worker_cells, Stage::Program, count);
        let mut made = made.drain(..).peekable();
        for (at, packet) in batch.drain(..).enumerate() {
            dispatch(packet, lane, pool, queues, &mut punts);
            while let Some((_, copy)) = made.next_if(|(behind, _)| *behind == at) {
                dispatch(copy, lane, pool, queues, &mut punts);
            }
        }
        drop(made);
        lane.cells.digests_lost.add(lane.executor.take_lost_digests());
        stopwatch.lap(worker_cells, Stage::Sort, count);
        self.transmit(at);
        self.stopwatch.lap(&self.cells, Stage::Send, count);
        let lane = &self.lanes[at];
        lane.cells.punted.add(punts.normal + punts.urgent);
        if punts.urgent > 0 {
            lane.tenant.to_cpu().urgent.notify();
        }
        if punts.normal > 0 {
            lane.tenant.to_cpu().normal.notify();
        }
    }

    /// Runs the batch. Copies that the program makes are kept with the place they belong to, or sent ahead if there would
    /// be no room for more.
    fn run_program(&mut self, at: usize, punts: &mut Punts) {
        let mut done = 0;
        while done < self.batch.len() {
            let lane = &mut *self.lanes[at];
            done += lane.executor.run(&mut self.batch[done..], punts.now_us, &mut self.pool);
            let made = self.made.len();
            self.made.extend(lane.executor.copies().map(|copy| (done - 1, copy)));
            let lost = lane.executor.take_lost_copies();
            if self.made.len() == made && lost == 0 {
                continue;
            }
            lane.cells.copied.add((self.made.len() - made) as u64 + lost);
            lane.cells.no_frame.add(lost);
            if self.made.len() > MAX_BATCH || self.pool.available() < MAX_BATCH {
                for (_, copy) in self.made.drain(..) {
                    dispatch(copy, lane, &mut self.pool, &mut self.queues, punts);
                }
                self.transmit(at);
            }
        }
    }

    /// Sends what waits in the port queues, which is all of one tenant.
    fn transmit(&mut self, at: usize) {
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
            queue.cells.tx_bytes.add(bytes);
            queue.cells.tx_packets.add(sent as u64);
            queue.cells.tx_lost.add(lost);
            all_bytes += bytes;
            all_packets += sent as u64;
            all_lost += lost;
        }
        let cells = &self.lanes[at].cells;
        cells.tx_bytes.add(all_bytes);
        cells.tx_packets.add(all_packets);
        cells.tx_lost.add(all_lost);
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
        self.queues[self.refresh_next].refresh();
        true
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
                punts.add(lane.tenant.to_cpu(), *urgency, packet.bytes(), packet.ingress_port());
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
