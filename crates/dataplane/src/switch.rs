//! A switch: ports, a virtual data plane, and the worker that moves packets between them.
//!
//! The worker runs to completion: a burst from a port goes through the program and out of its egress ports before the
//! next is received. Per packet it neither allocates, locks, logs nor blocks. Lives here: building a switch, its
//! shared handle, the worker's loop. Does not live here: devices (`ports`), programs ([`crate::vdp`]).

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hopwright_ir::interp::Digest;
use hopwright_jit::abi::Verdict;

use crate::cpu::{CpuQueue, Injector, Queue};
use crate::engine::{Executor, wall_clock_us};
use crate::handover::{Handover, WorkerBusy};
use crate::lane::{Change, Lane, MAX_LANES, MAX_PORT, Ports};
use crate::packet::{FrameSize, MAX_BATCH, Packet, Pool, PoolError};
use crate::port::{Port, PortInfo};
use crate::sample::{Held, Samples, Sampling, TooManySamplings};
use crate::stats::{Cells, Stage, Stopwatch, SwitchStats};
use crate::traffic::MAX_COPIES;
use crate::vdp::VirtualDataPlane;
use crate::wait::PollSet;

/// Empty rounds before a worker sleeps.
const SPINS: u32 = 256;
/// How long a worker sleeps at most before it looks whether it is to stop.
const NAP: Duration = Duration::from_millis(50);
/// Busy rounds between two looks at the devices' own counters.
const REFRESH_ROUNDS: u32 = 4096;
/// Time between two such looks when there is little to do.
const REFRESH: Duration = Duration::from_millis(200);
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

/// Collects what a switch is made of.
pub struct SwitchBuilder {
    vdp: Arc<VirtualDataPlane>,
    ports: Vec<(u32, Box<dyn Port>)>,
    cpu_port: Option<u32>,
    urgent_cpu_port: Option<u32>,
    queue: usize,
    frames: u32,
    frame_size: FrameSize,
    pool: Option<Pool>,
    batch: usize,
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
            pool: None,
            batch: MAX_BATCH,
        }
    }

    /// Adds a port.
    pub fn port(mut self, number: u32, port: Box<dyn Port>) -> SwitchBuilder {
        self.ports.push((number, port));
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

    /// Packets that may wait in each direction between worker and control plane; 1024 if not told.
    pub fn cpu_queue(mut self, packets: usize) -> SwitchBuilder {
        self.queue = packets;
        self
    }

    /// Packet buffers, how many and how large; 2048 of [`FrameSize::JUMBO`] if not told. There are at least two
    /// batches.
    pub fn pool(mut self, frames: u32, size: FrameSize) -> SwitchBuilder {
        self.frames = frames.max(2 * MAX_BATCH as u32);
        self.frame_size = size;
        self
    }

    /// The packet buffers themselves, for ports that share their memory.
    pub fn with_pool(mut self, pool: Pool) -> SwitchBuilder {
        self.frame_size = pool.frame_size();
        self.pool = Some(pool);
        self
    }

    /// Packets in a batch, 1 to [`MAX_BATCH`].
    pub fn batch(mut self, packets: usize) -> SwitchBuilder {
        self.batch = packets.clamp(1, MAX_BATCH);
        self
    }

    /// The switch's shared handle, and the worker to run on a thread of its own.
    pub fn build(self) -> Result<(Arc<Switch>, Worker), SwitchError> {
        let mut by_number = vec![Egress::Nowhere; MAX_PORT as usize + 1];
        let mut set = |number: u32, egress: Egress| match by_number.get_mut(number as usize) {
            None => Err(SwitchError::PortNumber(number)),
            Some(slot @ Egress::Nowhere) => {
                *slot = egress;
                Ok(())
            }
            Some(_) => Err(SwitchError::PortTwice(number)),
        };
        for (index, (number, _)) in self.ports.iter().enumerate() {
            set(*number, Egress::Port(index as u16))?;
        }
        // As many as there may ever be: adding one allocates nothing.
        let mut lanes = Vec::with_capacity(MAX_LANES);
        lanes.extend(self.ports.into_iter().map(|(number, port)| Lane::new(number, port)));
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
        let cells = Cells { parser_errors: (0..MAX_ERRORS).map(|_| Default::default()).collect(), ..Cells::default() };
        let switch = Arc::new(Switch {
            ports: Ports::new(&lanes, [self.cpu_port, self.urgent_cpu_port]),
            vdp: Mutex::new(self.vdp.clone()),
            cpu_port: self.cpu_port,
            handover: Handover::new(),
            cells,
            cpu,
            inject,
            samples: Arc::new(Samples::new(self.frame_size.data as usize)),
            stop: AtomicBool::new(false),
        });
        let mut worker = Worker {
            switch: switch.clone(),
            executor: Executor::new(self.vdp),
            pool: match self.pool {
                Some(pool) => pool,
                None => Pool::new(self.frames, self.frame_size)?,
            },
            batch: Vec::with_capacity(MAX_BATCH),
            made: Vec::with_capacity(MAX_BATCH + MAX_COPIES),
            sampled: Held::new(),
            limit: self.batch,
            lanes,
            by_number,
            poll: PollSet::with_capacity(2 + 2 * MAX_LANES),
            can_sleep: true,
            refresh_in: REFRESH_ROUNDS,
            refreshed: Instant::now(),
            stopwatch: Stopwatch::new(),
        };
        worker.watch_ports();
        Ok((switch, worker))
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
    handover: Handover,
    ports: Ports,
    cells: Cells,
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

    /// Gives the switch another program, with its state. The worker takes it up between two rounds: every packet runs
    /// through one program or the other. Returns when it has.
    ///
    /// # Errors
    /// If the worker does not end its round in time; it will take up the program when it does.
    pub fn replace(&self, vdp: Arc<VirtualDataPlane>) -> Result<(), WorkerBusy> {
        let executor = Executor::new(vdp.clone());
        *self.vdp.lock().unwrap_or_else(PoisonError::into_inner) = vdp;
        self.handover.replace(executor, || self.inject.normal.notify())
    }

    /// Does some work while the worker waits between two rounds, so that each packet sees all of its changes or none.
    /// Packets wait meanwhile: it should be short.
    ///
    /// # Errors
    /// If the worker does not end its round in time; nothing was done then.
    pub fn between_rounds<R>(&self, work: impl FnOnce() -> R) -> Result<R, WorkerBusy> {
        self.handover.while_waiting(|| self.inject.normal.notify(), work)
    }

    /// The number of the CPU port, if there is one.
    pub fn cpu_port(&self) -> Option<u32> {
        self.cpu_port
    }

    /// The oldest digest nobody has taken. When too many wait, new ones are lost and counted.
    pub fn next_digest(&self) -> Option<Digest> {
        self.vdp().next_digest()
    }

    /// The ports in the order they were given.
    pub fn ports(&self) -> Vec<PortSummary> {
        self.ports.summaries()
    }

    /// Adds a port, which the worker takes up before its next round. Packets longer than the pool's frames do not fit
    /// it, as for all ports.
    pub fn add_port(&self, number: u32, port: Box<dyn Port>) -> Result<(), SwitchError> {
        self.ports.add(number, port)?;
        self.inject.normal.notify();
        Ok(())
    }

    /// Takes a port away. The worker sends what it has for it and gives the port back before its next round; it is
    /// closed by the next call that looks at the switch's ports or counts. Its number is free at once.
    pub fn remove_port(&self, number: u32) -> Result<(), SwitchError> {
        self.ports.remove(number)?;
        self.inject.normal.notify();
        Ok(())
    }

    /// Rounds that the worker has made, with and without packets: it lives as long as they become more.
    pub fn rounds(&self) -> u64 {
        self.cells.rounds.get()
    }

    /// Whether the worker has still to take up changes of its ports.
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

    /// Copies packets to the caller as the worker takes them in, all or those of one port, with what became of them;
    /// more than the caller takes are lost. The worker pays for it only while it is going on.
    ///
    /// # Errors
    /// If there are too many who do so.
    pub fn sample(&self, port: Option<u32>) -> Result<Sampling, TooManySamplings> {
        Samples::begin(&self.samples, port)
    }

    /// Makes the worker return as soon as it has finished its burst.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.inject.normal.notify();
    }

    /// Whether [`Switch::stop`] was called.
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The counts now.
    pub fn stats(&self) -> SwitchStats {
        let c = &self.cells;
        let (ports, removed_ports) = self.ports.stats();
        SwitchStats {
            ports,
            removed_ports,
            dropped_by_program: c.dropped_by_program.get(),
            no_headroom: c.no_headroom.get(),
            faults: c.faults.get(),
            no_such_port: c.no_such_port.get(),
            no_frame: c.no_frame.get(),
            punted: c.punted.get(),
            punt_lost: self.cpu.normal.lost() + self.cpu.urgent.lost(),
            injected: c.injected.get(),
            copied: c.copied.get(),
            digests_lost: c.digests_lost.get(),
            parser_errors: c.parser_errors.iter().take(self.vdp().pipeline().errors.len()).map(|e| e.get()).collect(),
            batches: c.batches.get(),
            packets: c.packets.get(),
            busy_ns: c.busy_ns.get(),
            stages: c.stages.each_ref().map(|s| s.get()),
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
#[derive(Default)]
struct Punts {
    normal: u64,
    urgent: u64,
}

impl Punts {
    fn add(&mut self, cpu: &Cpu, urgency: Urgency, bytes: &[u8], ingress_port: u32, now_us: u64) {
        let handed = u64::from(cpu.queue(urgency).punt(bytes, ingress_port, now_us));
        match urgency {
            Urgency::Normal => self.normal += handed,
            Urgency::Urgent => self.urgent += handed,
        }
    }
}

/// Moves the packets of a switch.
pub struct Worker {
    switch: Arc<Switch>,
    executor: Executor,
    pool: Pool,
    batch: Vec<Packet>,
    /// Copies that the program made, and behind which packet of the batch they come.
    made: Vec<(usize, Packet)>,
    sampled: Held,
    limit: usize,
    lanes: Vec<Lane>,
    by_number: Vec<Egress>,
    poll: PollSet,
    can_sleep: bool,
    refresh_in: u32,
    refreshed: Instant,
    stopwatch: Stopwatch,
}

impl Worker {
    /// Works until the switch is stopped, or every port is finished and nothing is left to do.
    pub fn run(&mut self) {
        self.switch.handover.set_running(true);
        let mut idle = 0;
        while !self.switch.stopping() {
            if self.step() > 0 {
                idle = 0;
                continue;
            }
            if !self.lanes.is_empty()
                && self.lanes.iter().all(|l| l.port.finished())
                && !self.switch.inject.has_packets()
                && !self.switch.ports.changing()
            {
                break;
            }
            idle += 1;
            if idle < SPINS {
                std::hint::spin_loop();
                continue;
            }
            if self.refreshed.elapsed() > REFRESH {
                self.refresh();
            }
            if self.can_sleep && !self.lanes.iter_mut().any(|lane| lane.port.pending()) {
                self.poll.wait(NAP);
                self.switch.inject.normal.clear_wakeup();
                self.switch.inject.urgent.clear_wakeup();
            } else {
                std::thread::yield_now();
            }
        }
        self.switch.handover.set_running(false);
        for lane in &mut self.lanes {
            lane.port.flush();
        }
        self.refresh();
    }

    /// One round: a burst from every port and from the control plane, through the program and out. Returns the number
    /// of packets taken in.
    pub fn step(&mut self) -> usize {
        if self.switch.ports.changing() {
            self.change_ports();
        }
        if self.switch.handover.calls() {
            self.switch.handover.attend(&mut self.executor, || self.switch.stopping());
        }
        let mut total = 0;
        self.switch.cells.rounds.add(1);
        for index in 0..self.lanes.len() {
            let lane = &mut self.lanes[index];
            self.stopwatch.start();
            let count = lane.port.receive(&mut self.pool, &mut self.batch, self.limit);
            if count == 0 {
                self.stopwatch.cancel();
                continue;
            }
            let mut bytes = 0;
            for packet in &mut self.batch {
                packet.set_ingress_port(lane.number);
                bytes += packet.len() as u64;
            }
            lane.cells.rx_packets.add(count as u64);
            lane.cells.rx_bytes.add(bytes);
            self.stopwatch.lap(&self.switch.cells, Stage::Receive, count);
            self.process();
            self.stopwatch.finish();
            total += count;
        }
        total += self.inject();
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

    /// Takes up new ports and gives those back that are to go. Between rounds nothing waits in a lane.
    fn change_ports(&mut self) {
        while let Some(change) = self.switch.ports.next_change() {
            match change {
                Change::Add(lane) => {
                    self.by_number[lane.number as usize] = Egress::Port(self.lanes.len() as u16);
                    self.lanes.push(lane);
                }
                Change::Remove(number) => {
                    let Some(at) = self.lanes.iter().position(|l| l.number == number) else { continue };
                    let mut lane = self.lanes.swap_remove(at);
                    self.by_number[number as usize] = Egress::Nowhere;
                    if let Some(moved) = self.lanes.get(at) {
                        self.by_number[moved.number as usize] = Egress::Port(at as u16);
                    }
                    lane.port.flush();
                    lane.refresh();
                    self.switch.ports.give_back(lane);
                }
            }
        }
        self.watch_ports();
    }

    /// Sleeps on the ports there are now.
    fn watch_ports(&mut self) {
        self.poll.clear();
        self.poll.add(self.switch.inject.normal.wake_fd());
        self.poll.add(self.switch.inject.urgent.wake_fd());
        self.can_sleep = true;
        for lane in &self.lanes {
            match lane.port.poll_fd() {
                Some(fd) => self.poll.add(fd),
                None => self.can_sleep = false,
            }
            if let Some(fd) = lane.port.urgent_poll_fd() {
                self.poll.add(fd);
            }
        }
    }

    fn inject(&mut self) -> usize {
        let mut count = 0;
        let mut direct = 0;
        let Worker { switch, pool, batch, limit, lanes, by_number, .. } = self;
        while count < *limit {
            let cells = &switch.cells;
            let mut place = |bytes: &[u8], port: u32, raw: bool| {
                let filled = pool.take_filled(bytes).map(|mut p| {
                    p.set_ingress_port(port);
                    p
                });
                match (filled, raw, by_number.get(port as usize)) {
                    (None, ..) => cells.no_frame.add(1),
                    (Some(p), false, _) => batch.push(p),
                    (Some(p), true, Some(Egress::Port(at))) => {
                        lanes[usize::from(*at)].out.push(p);
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
            self.switch.cells.injected.add(count as u64);
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
        let mut punts = Punts::default();
        self.run_program(now_us, &mut punts);
        if sampling {
            self.switch.samples.after(&self.batch, &mut self.sampled);
        }
        let cells = &self.switch.cells;
        cells.batches.add(1);
        cells.packets.add(self.batch.len() as u64);
        cells.busy_ns.add(start.elapsed().as_nanos() as u64);
        let count = self.batch.len();
        self.stopwatch.lap(cells, Stage::Program, count);
        let Worker { switch, batch, made, pool, lanes, by_number, .. } = self;
        let mut made = made.drain(..).peekable();
        for (at, packet) in batch.drain(..).enumerate() {
            dispatch(packet, switch, pool, lanes, by_number, now_us, &mut punts);
            while let Some((_, copy)) = made.next_if(|(behind, _)| *behind == at) {
                dispatch(copy, switch, pool, lanes, by_number, now_us, &mut punts);
            }
        }
        drop(made);
        self.switch.cells.digests_lost.add(self.executor.take_lost_digests());
        self.stopwatch.lap(&self.switch.cells, Stage::Sort, count);
        self.transmit();
        self.stopwatch.lap(&self.switch.cells, Stage::Send, count);
        self.switch.cells.punted.add(punts.normal + punts.urgent);
        if punts.urgent > 0 {
            self.switch.cpu.urgent.notify();
        }
        if punts.normal > 0 {
            self.switch.cpu.normal.notify();
        }
    }

    /// Runs the batch. Copies that the program makes are kept with the place they belong to, or sent ahead if there would
    /// be no room for more.
    fn run_program(&mut self, now_us: u64, punts: &mut Punts) {
        let mut done = 0;
        while done < self.batch.len() {
            done += self.executor.run(&mut self.batch[done..], now_us, &mut self.pool);
            let made = self.made.len();
            self.made.extend(self.executor.copies().map(|copy| (done - 1, copy)));
            let lost = self.executor.take_lost_copies();
            if self.made.len() == made && lost == 0 {
                continue;
            }
            let cells = &self.switch.cells;
            cells.copied.add((self.made.len() - made) as u64 + lost);
            cells.no_frame.add(lost);
            if self.made.len() > MAX_BATCH || self.pool.available() < MAX_BATCH {
                let Worker { switch, made, pool, lanes, by_number, .. } = self;
                for (_, copy) in made.drain(..) {
                    dispatch(copy, switch, pool, lanes, by_number, now_us, punts);
                }
                self.transmit();
            }
        }
    }

    fn transmit(&mut self) {
        for lane in &mut self.lanes {
            if lane.out.is_empty() {
                continue;
            }
            let count = lane.out.len();
            let bytes: u64 = lane.out.iter().map(|p| p.len() as u64).sum();
            let sent = lane.port.transmit(&mut self.pool, &mut lane.out);
            lane.port.flush();
            // Lost packets are rare; their bytes are taken as average.
            let bytes = if sent == count { bytes } else { bytes * sent as u64 / count as u64 };
            lane.cells.tx_bytes.add(bytes);
            lane.cells.tx_packets.add(sent as u64);
            lane.cells.tx_lost.add((count - sent) as u64);
        }
    }

    fn refresh(&mut self) {
        self.refresh_in = REFRESH_ROUNDS;
        self.refreshed = Instant::now();
        for lane in &self.lanes {
            lane.refresh();
        }
    }
}

/// Brings a packet that the program is done with to where it goes.
#[inline]
fn dispatch(
    packet: Packet,
    switch: &Switch,
    pool: &mut Pool,
    lanes: &mut [Lane],
    by_number: &[Egress],
    now_us: u64,
    punts: &mut Punts,
) {
    let cells = &switch.cells;
    if packet.parser_error() != 0
        && let Some(cell) = cells.parser_errors.get(packet.parser_error() as usize)
    {
        cell.add(1);
    }
    let lost = match packet.verdict() {
        Verdict::Forward => match by_number.get(packet.egress_port() as usize) {
            Some(Egress::Port(at)) => {
                lanes[usize::from(*at)].out.push(packet);
                return;
            }
            Some(Egress::Cpu(urgency)) => {
                punts.add(&switch.cpu, *urgency, packet.bytes(), packet.ingress_port(), now_us);
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
