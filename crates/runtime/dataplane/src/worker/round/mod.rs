//! A worker: its rounds, from the ports through the tenants' programs to the ports.
//!
//! A worker runs to completion. With one tenant without limits, a burst from a port goes through the program and out of its
//! egress ports before the next is received. With several, a burst is classified into a [`Lane`] for each tenant; then the
//! [`schedule`](crate::worker::schedule) runs batches of them for a bounded time. Per packet a worker neither allocates, locks,
//! logs nor blocks.

mod changes;
mod intake;
mod sending;
mod turns;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::executor::traffic::MAX_COPIES;
use crate::observe::sample::Held;
use crate::observe::stats::{Stopwatch, WorkerCells};
use crate::packet::{MAX_BATCH, Packet, Pool};
use crate::worker::classifier::{Classifier, MAX_TENANTS};
use crate::worker::lane::{ActiveLanes, Lane, NO_LANE};
use crate::worker::mailbox::Mailbox;
use crate::worker::poll_backoff::{Next, PollBackoff};
use crate::worker::port_queue::PortQueue;
use crate::worker::respecialiser::start_respecialiser;
use crate::worker::switch::Switch;
use crate::worker::wait::{self, LostTime, Sleeper};

/// How long a worker sleeps at most before it looks whether it is to stop.
const NAP: Duration = Duration::from_millis(50);
/// How long the last packets may take to leave at the rates of their egress queues. Those that still wait then leave as fast as devices
/// take them, for as long at most.
const FINISH_TIME: Duration = Duration::from_millis(100);
/// What wakes a worker besides its ports, as bits of a [`Sleeper`].
const MAILBOX: u64 = 1;
const INJECTED: u64 = 2;
/// Time between two looks at a device's own counters.
const REFRESH: Duration = Duration::from_millis(200);
/// Busy rounds after which a worker looks whether it is time for one.
const REFRESH_ROUNDS: u32 = 64;

/// Moves packets of a switch: what its ports' objects for this worker receive.
pub struct Worker {
    /// Among the switch's workers. The first also takes what the control plane sends.
    index: usize,
    switch: Arc<Switch>,
    cells: Arc<WorkerCells>,
    #[expect(clippy::vec_box, reason = "the control side makes lanes, and drops them")]
    lanes: Vec<Box<Lane>>,
    /// Places in `lanes` by slot of the tenant, or [`NO_LANE`].
    by_slot: Box<[u16; MAX_TENANTS]>,
    classifier: Arc<Classifier>,
    active: ActiveLanes,
    /// The turn among active lanes with which a sweep begins.
    next_lane: usize,
    /// Packet buffers that all lanes may hold.
    shared_frames: usize,
    /// When to look at the ports again, though packets wait in lanes. None: nothing has been served in this round.
    round_ends: Option<Instant>,
    /// A lane is paused.
    paused: bool,
    /// When a generator makes the next packet, if one does.
    due: Option<Instant>,
    /// Nothing new is begun: see [`Worker::finish`].
    finishing: bool,
    lost_time: LostTime,
    started: Instant,
    pool: Pool,
    batch: Vec<Packet>,
    /// The lanes of a burst's packets.
    sorted: [u16; MAX_BATCH],
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
            by_slot: Box::new([NO_LANE; MAX_TENANTS]),
            classifier: Arc::default(),
            active: ActiveLanes::new(),
            next_lane: 0,
            shared_frames: 0,
            round_ends: None,
            paused: false,
            due: None,
            finishing: false,
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

    /// Works until the switch is stopped, or every port is finished and nothing is left to do. Packets that it has taken in leave before
    /// it returns, as [`Worker::finish`] says.
    pub fn run(&mut self) {
        wait::sharpen_timers();
        wait::shorten_slice();
        if self.index == 0 {
            self.switch.start_adapting(start_respecialiser);
        }
        self.queues.iter_mut().for_each(|queue| queue.port.set_intake(true));
        self.finishing = false;
        self.mailbox().attention.set_running(true);
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
        Worker::finish(std::slice::from_mut(self), || false);
        let Worker { lanes, pool, .. } = self;
        lanes.iter_mut().for_each(|lane| lane.shorten(0, pool));
        self.mailbox().attention.set_running(false);
        for queue in &mut self.queues {
            queue.port.flush();
        }
        for queue in &mut self.queues {
            queue.refresh();
        }
    }

    /// Brings every packet that workers have taken in, and what the control plane has sent, to where it goes: packets that wait for the
    /// rates of egress queues leave at these for a tenth of a second, and then as fast as devices take them, for as long at most. Packet
    /// generators make nothing meanwhile. To be called while these workers do no other rounds. `agent` moves what waits for it, and says
    /// whether that was anything.
    pub fn finish(workers: &mut [Worker], mut agent: impl FnMut() -> bool) {
        let set_hurry = |workers: &mut [Worker], hurry| {
            workers.iter_mut().flat_map(|worker| &mut worker.queues).for_each(|queue| queue.port.set_hurry(hurry));
        };
        for worker in &mut *workers {
            worker.finishing = true;
            worker.queues.iter_mut().for_each(|queue| queue.port.set_intake(false));
        }
        let (mut begun, mut hurry) = (Instant::now(), false);
        loop {
            let mut more = agent();
            for worker in &mut *workers {
                more |= worker.finish_packets();
            }
            let is_late = begun.elapsed() > FINISH_TIME;
            if !more || hurry && is_late {
                break;
            }
            if is_late {
                (begun, hurry) = (Instant::now(), true);
                set_hurry(workers, true);
            }
        }
        set_hurry(workers, false);
    }

    /// A round without intake. Returns whether there was something: then there may be more.
    fn finish_packets(&mut self) -> bool {
        let some = self.step() > 0;
        let mut waits = self.has_injected() || self.has_waiting();
        for queue in &mut self.queues {
            queue.port.flush();
            waits |= queue.port.pending();
        }
        some || waits
    }

    /// The frames of its pool that are neither packets nor lent. To be called while it does not run.
    pub fn free_frames(&self) -> &[u32] {
        self.pool.free_frames()
    }

    fn mailbox(&self) -> &Mailbox {
        &self.switch.workers().mailboxes()[self.index]
    }

    fn has_injected(&self) -> bool {
        self.index == 0 && self.switch.workers().injected.is_raised()
    }

    /// Whether packets wait for their tenant's turn.
    pub fn has_waiting(&self) -> bool {
        self.active.places().any(|at| self.lanes[at].has_packets())
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
                    self.mailbox().attention.wakeup.clear();
                }
                if woken_by & INJECTED != 0 {
                    self.switch.workers().injected.clear_wakeup();
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
        if self.mailbox().attention.is_called() {
            self.take_up_handovers();
        }
        if self.paused {
            self.resume();
        }
        let mut total = 0;
        self.round_ends = None;
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
            if self.switch.workers().injected.take() {
                total += self.inject_all();
            }
            if self.due.is_some() && !self.finishing {
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

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("switch", &self.switch).field("pool", &self.pool).finish_non_exhaustive()
    }
}
