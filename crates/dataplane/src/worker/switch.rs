//! The switch, its builder and its workers.
//!
//! A worker runs to completion: a burst from a port goes through the program and out of its egress ports before the next is
//! received. Per packet it neither allocates, locks, logs nor blocks.

use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hopwright_abi::Verdict;
use hopwright_ir::interp::Digest;

use crate::executor::traffic::MAX_COPIES;
use crate::executor::{Executor, wall_clock_us};
use crate::observe::sample::{Held, Samples, Sampling, TooManySamplings};
use crate::observe::stats::{Cell, Cells, Stage, StageTime, Stopwatch, SwitchStats, WorkerStats};
use crate::packet::{FrameSize, MAX_BATCH, Packet, Pool, PoolError};
use crate::port::{Port, PortInfo};
use crate::trace::respecialise::start_respecialiser;
use crate::vdp::{BuildError, VirtualDataPlane};
use crate::worker::cpu::{CpuQueue, Injector, Queue};
use crate::worker::handover::{Handover, WorkerBusy};
use crate::worker::poll_backoff::{Next, PollBackoff};
use crate::worker::port_queue::{Change, MAX_PORT, MAX_PORT_QUEUES, Mailbox, PortQueue, Ports};
use crate::worker::wait::{self, Sleeper};

/// How long a worker sleeps at most before it looks whether it is to stop.
const NAP: Duration = Duration::from_millis(50);
/// What wakes a worker besides its ports, as bits of a [`Sleeper`].
const MAILBOX: u64 = 1;
const INJECTED: u64 = 2;
const INJECTED_URGENT: u64 = 4;
/// Time between two looks at a device's own counters.
const REFRESH: Duration = Duration::from_millis(200);
/// Busy rounds after which a worker looks whether it is time for one.
const REFRESH_ROUNDS: u32 = 64;
/// Packets that may wait in each of the two urgent queues.
const URGENT_QUEUE: usize = 256;

/// Parser errors that are counted apart, whatever the program.
const MAX_ERRORS: usize = 256;

/// Why a switch cannot be built or changed.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// A number that v1model does not have.
    #[error("{0} is no port number: they go from 0 to {MAX_PORT}")]
    PortNumber(u32),
    /// Two ports, or a port and the CPU port, with one number.
    #[error("port number {0} is given twice")]
    PortTwice(u32),
    /// A port needs a queue in each worker.
    #[error("{ports} ports are given for {workers} workers")]
    PortsPerWorker {
        /// Given.
        ports: usize,
        /// Workers there are.
        workers: usize,
    },
    /// The program cannot run on several workers.
    #[error(transparent)]
    Workers(#[from] BuildError),
    /// No such port to take away.
    #[error("there is no port {0}")]
    NoSuchPort(u32),
    /// Too many changes of ports wait.
    #[error("the worker has not taken up earlier changes of its ports")]
    WorkerBehind,
    /// No memory for packets.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The system refused.
    #[error("cannot set up the worker: {0}")]
    Io(#[from] io::Error),
}

/// Why a switch does not run another program.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ReplaceError {
    #[error(transparent)]
    Program(#[from] BuildError),
    #[error(transparent)]
    Busy(#[from] WorkerBusy),
}

/// Collects what a switch is made of.
pub struct SwitchBuilder {
    vdp: Arc<VirtualDataPlane>,
    ports: Vec<(u32, Vec<Box<dyn Port>>)>,
    cpu_port: Option<u32>,
    urgent_cpu_port: Option<u32>,
    queue: usize,
    frames: u32,
    frame_size: FrameSize,
    pools: Vec<Pool>,
    batch: usize,
    longest_rest: Option<Duration>,
}

impl SwitchBuilder {
    /// A switch without ports.
    pub fn new(vdp: Arc<VirtualDataPlane>) -> SwitchBuilder {
        SwitchBuilder {
            vdp,
            ports: Vec::new(),
            cpu_port: None,
            urgent_cpu_port: None,
            queue: 1024,
            frames: 2048,
            frame_size: FrameSize::JUMBO,
            pools: Vec::new(),
            batch: MAX_BATCH,
            longest_rest: None,
        }
    }

    /// Adds a port of a switch with one worker.
    pub fn port(self, number: u32, port: Box<dyn Port>) -> SwitchBuilder {
        self.ports(number, vec![port])
    }

    /// Adds a port, one object for each worker: each receives a part of what the device gets, and sends.
    pub fn ports(mut self, number: u32, ports: Vec<Box<dyn Port>>) -> SwitchBuilder {
        self.ports.push((number, ports));
        self
    }

    /// Packets the program sends to this port go to the control plane. Without it such packets have no port.
    pub fn cpu_port(mut self, number: u32) -> SwitchBuilder {
        self.cpu_port = Some(number);
        self
    }

    /// Packets the program sends to this port go to the control plane, too, by a small queue of their own: what must
    /// not wait behind a flood of others.
    pub fn urgent_cpu_port(mut self, number: u32) -> SwitchBuilder {
        self.urgent_cpu_port = Some(number);
        self
    }

    /// Packets that may wait in each direction between worker and control plane; 1024 by default.
    pub fn cpu_queue(mut self, packets: usize) -> SwitchBuilder {
        self.queue = packets;
        self
    }

    /// Packet buffers, how many and how large; 2048 of [`FrameSize::JUMBO`] by default. There are at least two
    /// batches.
    pub fn pool(mut self, frames: u32, size: FrameSize) -> SwitchBuilder {
        self.frames = frames.max(2 * MAX_BATCH as u32);
        self.frame_size = size;
        self
    }

    /// The packet buffers themselves, a pool for each worker, for ports that share their memory. There are as many
    /// workers as pools.
    pub fn pools(mut self, pools: Vec<Pool>) -> SwitchBuilder {
        if let Some(pool) = pools.first() {
            self.frame_size = pool.frame_size();
        }
        self.pools = pools;
        self
    }

    /// Packets in a batch, 1 to [`MAX_BATCH`].
    pub fn batch(mut self, packets: usize) -> SwitchBuilder {
        self.batch = packets.clamp(1, MAX_BATCH);
        self
    }

    /// How long a worker may rest between rounds so that packets come in batches, which cost less each; zero: never. By
    /// default it rests only above 160,000 packets a second.
    pub fn longest_rest(mut self, time: Duration) -> SwitchBuilder {
        self.longest_rest = Some(time);
        self
    }

    /// The switch's shared handle, and the worker to run on a thread of its own.
    pub fn build(mut self) -> Result<(Arc<Switch>, Worker), SwitchError> {
        self.pools.truncate(1);
        let (switch, workers) = self.build_workers()?;
        match workers.into_iter().next() {
            Some(worker) => Ok((switch, worker)),
            None => unreachable!("there is a worker for each pool, and a pool at least"),
        }
    }

    /// The switch's shared handle, and as many workers as there are pools, each to run on a thread of its own.
    pub fn build_workers(mut self) -> Result<(Arc<Switch>, Vec<Worker>), SwitchError> {
        if self.pools.is_empty() {
            self.pools.push(Pool::new(self.frames, self.frame_size)?);
        }
        let count = self.pools.len();
        if count > 1 {
            self.vdp.shareable()?;
        }
        let mut by_number = vec![Egress::Nowhere; MAX_PORT as usize + 1];
        let mut set = |number: u32, egress: Egress| match by_number.get_mut(number as usize) {
            None => Err(SwitchError::PortNumber(number)),
            Some(slot @ Egress::Nowhere) => {
                *slot = egress;
                Ok(())
            }
            Some(_) => Err(SwitchError::PortTwice(number)),
        };
        // As many as there may ever be: adding one allocates nothing.
        let mut queues: Vec<Vec<PortQueue>> = (0..count).map(|_| Vec::with_capacity(MAX_PORT_QUEUES)).collect();
        for (index, (number, ports)) in self.ports.into_iter().enumerate() {
            set(number, Egress::Port(index as u16))?;
            if ports.len() != count {
                return Err(SwitchError::PortsPerWorker { ports: ports.len(), workers: count });
            }
            for (queues, port) in queues.iter_mut().zip(ports) {
                queues.push(PortQueue::new(number, port));
            }
        }
        for (number, urgency) in [(self.cpu_port, Urgency::Normal), (self.urgent_cpu_port, Urgency::Urgent)] {
            if let Some(number) = number {
                set(number, Egress::Cpu(urgency))?;
            }
        }
        let queue_bytes = self.frame_size.stride();
        let cpu = Cpu {
            normal: Queue::new(if self.cpu_port.is_some() { self.queue } else { 1 }, queue_bytes)?,
            urgent: Queue::new(if self.urgent_cpu_port.is_some() { URGENT_QUEUE } else { 1 }, queue_bytes)?,
        };
        let inject = Cpu {
            normal: Queue::new(self.queue, self.frame_size.data as usize)?,
            urgent: Queue::new(URGENT_QUEUE, self.frame_size.data as usize)?,
        };
        let cells =
            || Cells { parser_errors: (0..MAX_ERRORS).map(|_| Default::default()).collect(), ..Cells::default() };
        let switch = Arc::new(Switch {
            ports: Ports::new(&queues, [self.cpu_port, self.urgent_cpu_port])?,
            vdp: Mutex::new(self.vdp.clone()),
            cpu_port: self.cpu_port,
            handovers: (0..count).map(|_| Handover::new()).collect(),
            cells: (0..count).map(|_| Arc::new(cells())).collect(),
            cpu,
            inject,
            samples: Arc::new(Samples::new(self.frame_size.data as usize)),
            stop: AtomicBool::new(false),
        });
        let workers = self.pools.into_iter().zip(queues).enumerate().map(|(index, (pool, queues))| {
            let mut worker = Worker {
                index,
                cells: switch.cells[index].clone(),
                switch: switch.clone(),
                executor: Executor::new(self.vdp.clone()),
                pool,
                batch: Vec::with_capacity(MAX_BATCH),
                made: Vec::with_capacity(MAX_BATCH + MAX_COPIES),
                sampled: Held::new(),
                limit: self.batch,
                queues,
                by_number: by_number.clone(),
                sleeper: None,
                backoff: PollBackoff::new(self.longest_rest, self.batch),
                refresh_in: REFRESH_ROUNDS,
                refreshed: Instant::now(),
                refresh_next: 0,
                stopwatch: Stopwatch::new(),
            };
            worker.watch_ports();
            worker
        });
        let workers = workers.collect();
        Ok((switch, workers))
    }
}

impl fmt::Debug for SwitchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwitchBuilder")
            .field("vdp", &self.vdp)
            .field("ports", &self.ports.len())
            .finish_non_exhaustive()
    }
}

/// A port as the control plane sees it.
#[derive(Clone, Debug)]
pub struct PortSummary {
    /// Its number.
    pub number: u32,
    /// Its device's name.
    pub name: String,
    /// What the device said when the switch was built.
    pub info: PortInfo,
}

/// A running switch, seen from outside its worker.
pub struct Switch {
    vdp: Mutex<Arc<VirtualDataPlane>>,
    cpu_port: Option<u32>,
    /// By worker.
    handovers: Vec<Handover>,
    ports: Ports,
    /// By worker.
    cells: Vec<Arc<Cells>>,
    cpu: Cpu,
    inject: Cpu,
    samples: Arc<Samples>,
    stop: AtomicBool,
}

/// The queues of one direction between worker and control plane.
struct Cpu {
    normal: Arc<Queue>,
    urgent: Arc<Queue>,
}

impl Cpu {
    fn has_packets(&self) -> bool {
        self.normal.has_packets() || self.urgent.has_packets()
    }

    fn queue(&self, urgency: Urgency) -> &Queue {
        match urgency {
            Urgency::Normal => &self.normal,
            Urgency::Urgent => &self.urgent,
        }
    }
}

impl Switch {
    /// The data plane, to control it.
    pub fn vdp(&self) -> Arc<VirtualDataPlane> {
        self.vdp.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives the switch another program, with its state. Each worker takes it up between two rounds: every packet runs
    /// through one program or the other. Returns when all have.
    ///
    /// # Errors
    /// If there are several workers and the program cannot run on them, or if one does not end its round in time; it
    /// will take up the program when it does.
    pub fn replace(&self, vdp: Arc<VirtualDataPlane>) -> Result<(), ReplaceError> {
        if self.handovers.len() > 1 {
            vdp.shareable()?;
        }
        *self.vdp.lock().unwrap_or_else(PoisonError::into_inner) = vdp.clone();
        for handover in &self.handovers {
            handover.replace(Executor::new(vdp.clone()), || self.ports.wake())?;
        }
        Ok(())
    }

    /// Does some work while the workers wait between two rounds, so that each packet sees all of its changes or none.
    /// Packets wait meanwhile: it should be short.
    ///
    /// # Errors
    /// If a worker does not end its round in time; nothing was done then.
    pub fn between_rounds<R>(&self, work: impl FnOnce() -> R) -> Result<R, WorkerBusy> {
        let waiting: Result<Vec<_>, _> = self.handovers.iter().map(|h| h.stop(|| self.ports.wake())).collect();
        waiting.map(|_waiting| work())
    }

    /// The number of the CPU port, if there is one.
    pub fn cpu_port(&self) -> Option<u32> {
        self.cpu_port
    }

    /// Takes the oldest waiting digest. When too many wait, new ones are lost and counted.
    pub fn next_digest(&self) -> Option<Digest> {
        self.vdp().control().next_digest()
    }

    /// The ports in the order they were given.
    pub fn ports(&self) -> Vec<PortSummary> {
        self.ports.summaries()
    }

    /// Adds a port of a switch with one worker; see [`Switch::add_ports`].
    pub fn add_port(&self, number: u32, port: Box<dyn Port>) -> Result<(), SwitchError> {
        self.add_ports(number, vec![port])
    }

    /// Adds a port, one object for each worker, which takes it up before its next round. Packets longer than the
    /// pool's frames do not fit it, as for all ports.
    pub fn add_ports(&self, number: u32, ports: Vec<Box<dyn Port>>) -> Result<(), SwitchError> {
        self.ports.add(number, ports)?;
        self.ports.wake();
        Ok(())
    }

    /// Takes a port away. The worker sends what it has for it and gives the port back before its next round; it is
    /// closed by the next call that looks at the switch's ports or counts. Its number is free at once.
    pub fn remove_port(&self, number: u32) -> Result<(), SwitchError> {
        self.ports.remove(number)?;
        self.ports.wake();
        Ok(())
    }

    /// Rounds that every worker has made at least, with and without packets: all live as long as they become more.
    pub fn rounds(&self) -> u64 {
        self.cells.iter().map(|cells| cells.rounds.get()).min().unwrap_or(0)
    }

    /// Whether a worker has still to take up changes of its ports.
    pub fn ports_changing(&self) -> bool {
        self.ports.changing()
    }

    /// Where packets to the CPU port arrive.
    pub fn cpu(&self) -> CpuQueue {
        CpuQueue(self.cpu.normal.clone())
    }

    /// Where packets to the urgent CPU port arrive.
    pub fn urgent_cpu(&self) -> CpuQueue {
        CpuQueue(self.cpu.urgent.clone())
    }

    /// Where the control plane sends packets.
    pub fn injector(&self) -> Injector {
        Injector(self.inject.normal.clone())
    }

    /// As [`Switch::injector`], by a small queue that the worker empties first, each round.
    pub fn urgent_injector(&self) -> Injector {
        Injector(self.inject.urgent.clone())
    }

    /// Copies packets to the caller as the workers take them in, all or those of one port, with what became of them;
    /// more than the caller takes are lost. The workers pay for it only while it is going on.
    ///
    /// # Errors
    /// If there are too many samplings.
    pub fn sample(&self, port: Option<u32>) -> Result<Sampling, TooManySamplings> {
        Samples::begin(&self.samples, port)
    }

    /// Makes the workers return as soon as they have finished their bursts.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.ports.wake();
    }

    /// Whether [`Switch::stop`] was called.
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The counts now.
    pub fn stats(&self) -> SwitchStats {
        let (ports, removed_ports) = self.ports.stats();
        let sum = |of: fn(&Cells) -> &Cell| self.cells.iter().map(|cells| of(cells).get()).sum();
        let parser_errors = |i: usize| self.cells.iter().map(|cells| cells.parser_errors[i].get()).sum();
        let stage = |i: usize| {
            self.cells.iter().map(|cells| cells.stages[i].get()).fold(StageTime::default(), |sum, time| StageTime {
                ns: sum.ns + time.ns,
                packets: sum.packets + time.packets,
            })
        };
        SwitchStats {
            ports,
            removed_ports,
            dropped_by_program: sum(|c| &c.dropped_by_program),
            no_headroom: sum(|c| &c.no_headroom),
            faults: sum(|c| &c.faults),
            no_such_port: sum(|c| &c.no_such_port),
            no_frame: sum(|c| &c.no_frame),
            punted: sum(|c| &c.punted),
            punt_lost: self.cpu.normal.lost() + self.cpu.urgent.lost(),
            injected: sum(|c| &c.injected),
            copied: sum(|c| &c.copied),
            digests_lost: sum(|c| &c.digests_lost),
            parser_errors: (0..self.vdp().pipeline().errors.len().min(MAX_ERRORS)).map(parser_errors).collect(),
            batches: sum(|c| &c.batches),
            packets: sum(|c| &c.packets),
            busy_ns: sum(|c| &c.busy_ns),
            stages: std::array::from_fn(stage),
            workers: self
                .cells
                .iter()
                .map(|c| WorkerStats { batches: c.batches.get(), packets: c.packets.get(), busy_ns: c.busy_ns.get() })
                .collect(),
        }
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switch")
            .field("vdp", &self.vdp())
            .field("ports", &self.ports.summaries())
            .finish_non_exhaustive()
    }
}

/// Where a port number leads.
#[derive(Clone, Copy, Debug)]
enum Egress {
    Nowhere,
    Port(u16),
    Cpu(Urgency),
}

#[derive(Clone, Copy, Debug)]
enum Urgency {
    Normal,
    Urgent,
}

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
    cells: Arc<Cells>,
    executor: Executor,
    pool: Pool,
    batch: Vec<Packet>,
    /// Copies that the program made, and behind which packet of the batch they come.
    made: Vec<(usize, Packet)>,
    sampled: Held,
    limit: usize,
    queues: Vec<PortQueue>,
    by_number: Vec<Egress>,
    /// None if not every port can wake it.
    sleeper: Option<Sleeper>,
    backoff: PollBackoff,
    refresh_in: u32,
    refreshed: Instant,
    refresh_next: usize,
    stopwatch: Stopwatch,
}

impl Worker {
    /// Works until the switch is stopped, or every port is finished and nothing is left to do.
    pub fn run(&mut self) {
        wait::sharpen_timers();
        if self.index == 0 {
            start_respecialiser(&self.switch);
        }
        self.switch.handovers[self.index].set_running(true);
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
        self.switch.handovers[self.index].set_running(false);
        for queue in &mut self.queues {
            queue.port.flush();
        }
        self.queues.iter().for_each(PortQueue::refresh);
    }

    fn mailbox(&self) -> &Mailbox {
        self.switch.ports.worker(self.index)
    }

    fn has_injected(&self) -> bool {
        self.index == 0 && self.switch.inject.has_packets()
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
                    self.switch.inject.normal.clear_wakeup();
                }
                if woken_by & INJECTED_URGENT != 0 {
                    self.switch.inject.urgent.clear_wakeup();
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
        let handover = &self.switch.handovers[self.index];
        if handover.calls() {
            handover.attend(&mut self.executor, || self.switch.stopping());
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
            let mut bytes = 0;
            for packet in &mut self.batch {
                packet.set_ingress_port(queue.number);
                bytes += packet.len() as u64;
            }
            queue.cells.rx_packets.add(count as u64);
            queue.cells.rx_bytes.add(bytes);
            self.stopwatch.lap(&self.cells, Stage::Receive, count);
            self.process();
            self.stopwatch.finish();
            total += count;
        }
        if self.index == 0 {
            total += self.inject();
        }
        self.refresh_in = self.refresh_in.wrapping_sub(1);
        if self.refresh_in == 0 {
            self.refresh();
        }
        total
    }

    /// The executor, to look at the data plane.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Takes up new ports and gives those back that are to go. Between rounds nothing waits in a queue.
    fn change_ports(&mut self) {
        while let Some(change) = self.switch.ports.worker(self.index).next_change() {
            match change {
                Change::Add(queue) => {
                    self.by_number[queue.number as usize] = Egress::Port(self.queues.len() as u16);
                    self.queues.push(queue);
                }
                Change::Remove(number) => {
                    let Some(at) = self.queues.iter().position(|l| l.number == number) else { continue };
                    let mut queue = self.queues.swap_remove(at);
                    self.by_number[number as usize] = Egress::Nowhere;
                    if let Some(moved) = self.queues.get(at) {
                        self.by_number[moved.number as usize] = Egress::Port(at as u16);
                    }
                    queue.port.flush();
                    queue.refresh();
                    self.switch.ports.worker(self.index).give_back(queue);
                }
            }
        }
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
            sleeper.add(self.switch.inject.normal.wake_fd(), INJECTED).ok()?;
            sleeper.add(self.switch.inject.urgent.wake_fd(), INJECTED_URGENT).ok()?;
        }
        for queue in &self.queues {
            sleeper.add(queue.port.poll_fd()?, 0).ok()?;
            if let Some(fd) = queue.port.urgent_poll_fd() {
                sleeper.add(fd, 0).ok()?;
            }
        }
        Some(sleeper)
    }

    fn inject(&mut self) -> usize {
        let mut count = 0;
        let mut direct = 0;
        let Worker { switch, cells, pool, batch, limit, queues, by_number, .. } = self;
        while count < *limit {
            let mut place = |bytes: &[u8], port: u32, raw: bool| {
                let filled = pool.take_filled(bytes).map(|mut p| {
                    p.set_ingress_port(port);
                    p
                });
                match (filled, raw, by_number.get(port as usize)) {
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
            if !switch.inject.urgent.take(&mut place) && !switch.inject.normal.take(&mut place) {
                break;
            }
            count += 1;
        }
        if count > 0 {
            self.cells.injected.add(count as u64);
            if direct > 0 {
                self.transmit();
            }
            if !self.batch.is_empty() {
                self.process();
            }
        }
        count
    }

    /// Runs the batch and sends what comes out.
    fn process(&mut self) {
        let start = Instant::now();
        let now_us = wall_clock_us();
        let sampling = self.switch.samples.wanted();
        if sampling {
            self.switch.samples.before(&self.batch, now_us, &mut self.sampled);
        }
        if let Some(depths) = self.executor.depths() {
            depths.clear();
            self.queues.iter_mut().for_each(|queue| depths.set(queue.number, queue.port.backlog()));
        }
        let mut punts = Punts::new(now_us);
        self.run_program(&mut punts);
        if sampling {
            self.switch.samples.after(&self.batch, &mut self.sampled);
        }
        let cells = &self.cells;
        cells.batches.add(1);
        cells.packets.add(self.batch.len() as u64);
        cells.busy_ns.add(start.elapsed().as_nanos() as u64);
        let count = self.batch.len();
        self.stopwatch.lap(cells, Stage::Program, count);
        let Worker { switch, cells, batch, made, pool, queues, by_number, .. } = self;
        let mut made = made.drain(..).peekable();
        for (at, packet) in batch.drain(..).enumerate() {
            dispatch(packet, switch, cells, pool, queues, by_number, &mut punts);
            while let Some((_, copy)) = made.next_if(|(behind, _)| *behind == at) {
                dispatch(copy, switch, cells, pool, queues, by_number, &mut punts);
            }
        }
        drop(made);
        self.cells.digests_lost.add(self.executor.take_lost_digests());
        self.stopwatch.lap(&self.cells, Stage::Sort, count);
        self.transmit();
        self.stopwatch.lap(&self.cells, Stage::Send, count);
        self.cells.punted.add(punts.normal + punts.urgent);
        if punts.urgent > 0 {
            self.switch.cpu.urgent.notify();
        }
        if punts.normal > 0 {
            self.switch.cpu.normal.notify();
        }
    }

    /// Runs the batch. Copies that the program makes are kept with the place they belong to, or sent ahead if there would
    /// be no room for more.
    fn run_program(&mut self, punts: &mut Punts) {
        let mut done = 0;
        while done < self.batch.len() {
            done += self.executor.run(&mut self.batch[done..], punts.now_us, &mut self.pool);
            let made = self.made.len();
            self.made.extend(self.executor.copies().map(|copy| (done - 1, copy)));
            let lost = self.executor.take_lost_copies();
            if self.made.len() == made && lost == 0 {
                continue;
            }
            let cells = &self.cells;
            cells.copied.add((self.made.len() - made) as u64 + lost);
            cells.no_frame.add(lost);
            if self.made.len() > MAX_BATCH || self.pool.available() < MAX_BATCH {
                let Worker { switch, cells, made, pool, queues, by_number, .. } = self;
                for (_, copy) in made.drain(..) {
                    dispatch(copy, switch, cells, pool, queues, by_number, punts);
                }
                self.transmit();
            }
        }
    }

    fn transmit(&mut self) {
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
            queue.cells.tx_bytes.add(bytes);
            queue.cells.tx_packets.add(sent as u64);
            queue.cells.tx_lost.add((count - sent) as u64);
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
        self.queues[self.refresh_next].refresh();
        true
    }
}

/// Brings a packet that the program is done with to where it goes.
#[inline]
fn dispatch(
    packet: Packet,
    switch: &Switch,
    cells: &Cells,
    pool: &mut Pool,
    queues: &mut [PortQueue],
    by_number: &[Egress],
    punts: &mut Punts,
) {
    if packet.parser_error() != 0
        && let Some(cell) = cells.parser_errors.get(packet.parser_error() as usize)
    {
        cell.add(1);
    }
    let lost = match packet.verdict() {
        Verdict::Forward => match by_number.get(packet.egress_port() as usize) {
            Some(Egress::Port(at)) => {
                queues[usize::from(*at)].out.push(packet);
                return;
            }
            Some(Egress::Cpu(urgency)) => {
                punts.add(&switch.cpu, *urgency, packet.bytes(), packet.ingress_port());
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
