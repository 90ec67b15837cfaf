//! A tenant: a program on a switch, with the queues, counts and port numbers that belong to it.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crossbeam_queue::ArrayQueue;
use hopwright_interp::{Digest, MAX_PASSES};

use crate::build_error::BuildError;
use crate::executor::Executor;
use crate::observe::sample::{Samples, Sampling, TooManySamplings};
use crate::observe::stats::{MAX_ERRORS, PortStats, TenantCells, TenantStats, WorkerStats};
use crate::packet::FrameSize;
use crate::port::MAX_PORT;
use crate::vdp::VirtualDataPlane;
use crate::worker::classifier::{Rule, Slot, TenantRules};
use crate::worker::cpu::{CpuQueue, Injector, Queue};
use crate::worker::error::{SwitchError, WorkerBusy};
use crate::worker::generator::{Generator, MAX_GENERATORS, Stream};
use crate::worker::handover::Handover;
use crate::worker::policer::{Policer, Rate};
use crate::worker::port_queue::{Change, MAX_CHANGES, PortSummary, Ports, Workers};
use crate::worker::schedule::MAX_WEIGHT;
use crate::worker::tenant_ports::TenantPorts;

/// Packets that may wait in each of the two urgent queues.
const URGENT_QUEUE: usize = 256;

/// Why a tenant does not run another program.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ReplaceError {
    #[error(transparent)]
    Program(#[from] BuildError),
    #[error(transparent)]
    Busy(#[from] WorkerBusy),
    #[error(transparent)]
    Generators(#[from] SwitchError),
    #[error("the tenant was removed from its switch")]
    Removed,
}

impl TenantPorts {
    /// Numbers that no port of the switch may have beside these of CPU ports.
    fn reserved(&self, cpu_ports: [Option<u32>; 2]) -> Vec<u32> {
        if *self == TenantPorts::All { cpu_ports.into_iter().flatten().collect() } else { Vec::new() }
    }

    fn check(&self, cpu_ports: [Option<u32>; 2]) -> Result<(), SwitchError> {
        let own: Vec<u32> = match self {
            TenantPorts::All => Vec::new(),
            TenantPorts::Numbered(map) => map.keys().copied().collect(),
        };
        let mut numbers: Vec<u32> = own.into_iter().chain(cpu_ports.into_iter().flatten()).collect();
        numbers.sort_unstable();
        if let Some(number) = numbers.iter().find(|number| **number > MAX_PORT) {
            return Err(SwitchError::PortNumber(*number));
        }
        if let Some(twice) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SwitchError::PortTwice(twice[0]));
        }
        if let TenantPorts::Numbered(map) = self {
            let mut of_switch: Vec<u32> = map.values().copied().collect();
            of_switch.sort_unstable();
            if let Some(twice) = of_switch.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(SwitchError::PortTwice(twice[0]));
            }
        }
        Ok(())
    }
}

/// What a tenant may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Packets a second that are let in from the ports, by all workers together. Copies that the program makes count,
    /// too.
    pub packets: Option<Rate>,
    /// Bits a second, counted in the same way: 8 for each byte from the destination address to the end of the payload.
    pub bits: Option<Rate>,
    /// Share of each worker's time, relative to the weights of the other tenants that have packets; 1 to
    /// [`Limits::MAX_WEIGHT`].
    pub weight: u32,
    /// Packet buffers of each worker that it may hold: packets that wait for their turn, and copies on their way to a
    /// port. `None`: an equal part of half of the worker's buffers.
    pub frames: Option<u32>,
    /// Ingress and egress passes that one received packet may cause: recirculations, resubmissions and copies. A worker
    /// runs them without looking at other tenants, so that fewer mean less delay for these. A packet that exceeds it
    /// is dropped as a fault. `None`: 4,096.
    pub passes: Option<u32>,
}

impl Limits {
    /// The largest weight.
    pub const MAX_WEIGHT: u32 = MAX_WEIGHT;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { packets: None, bits: None, weight: 1, frames: None, passes: None }
    }
}

/// What a tenant is made of.
#[derive(Clone, Debug)]
pub struct TenantSpec {
    /// Its name, which no other tenant of the switch has.
    pub name: String,
    /// Its program.
    pub vdp: Arc<VirtualDataPlane>,
    /// Its ports.
    pub ports: TenantPorts,
    /// Packets that the program sends to this port go to the control plane. Without it such packets have no port.
    pub cpu_port: Option<u32>,
    /// Packets that the program sends to this port go to the control plane, too, by a small queue of their own.
    pub urgent_cpu_port: Option<u32>,
    /// Packets that may wait in each direction between workers and control plane.
    pub cpu_queue: usize,
    /// Which frames it gets.
    pub rules: Vec<Rule>,
    /// What it may use.
    pub limits: Limits,
}

impl TenantSpec {
    /// A tenant that gets every frame of every port, without CPU port and limits; 1024 packets may wait in each
    /// direction.
    pub fn new(name: impl Into<String>, vdp: Arc<VirtualDataPlane>) -> TenantSpec {
        TenantSpec {
            name: name.into(),
            vdp,
            ports: TenantPorts::All,
            cpu_port: None,
            urgent_cpu_port: None,
            cpu_queue: 1024,
            rules: vec![Rule::default()],
            limits: Limits::default(),
        }
    }

    /// Checks port numbers, and that the program can run on this many workers.
    pub(crate) fn check(&self, workers: usize) -> Result<(), SwitchError> {
        self.ports.check([self.cpu_port, self.urgent_cpu_port])?;
        check_limits(&self.limits)?;
        if workers > 1 {
            self.vdp.shareable()?;
        }
        Ok(())
    }

    /// Numbers that no port of the switch may have.
    pub(crate) fn reserved(&self) -> Vec<u32> {
        self.ports.reserved([self.cpu_port, self.urgent_cpu_port])
    }
}

fn check_limits(limits: &Limits) -> Result<(), SwitchError> {
    match limits.weight {
        1..=MAX_WEIGHT => Ok(()),
        weight => Err(SwitchError::Weight(weight)),
    }
}

/// Which of the two CPU queues.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Urgency {
    Normal,
    Urgent,
}

/// The queues of one direction between workers and control plane.
pub(crate) struct Cpu {
    pub normal: Arc<Queue>,
    pub urgent: Arc<Queue>,
}

impl Cpu {
    pub(crate) fn has_packets(&self) -> bool {
        self.normal.has_packets() || self.urgent.has_packets()
    }

    pub(crate) fn queue(&self, urgency: Urgency) -> &Queue {
        match urgency {
            Urgency::Normal => &self.normal,
            Urgency::Urgent => &self.urgent,
        }
    }
}

/// A program on a switch, seen from outside the workers: what a control plane holds.
///
/// Its port numbers are those of [`TenantSpec::ports`].
pub struct Tenant {
    name: Box<str>,
    vdp: Mutex<Arc<VirtualDataPlane>>,
    ports: TenantPorts,
    cpu_ports: [Option<u32>; 2],
    /// By worker.
    handovers: Vec<Handover>,
    /// By worker.
    cells: Vec<Arc<TenantCells>>,
    cpu: Cpu,
    inject: Cpu,
    /// Generators that its first worker no longer uses.
    used_generators: ArrayQueue<Box<Generator>>,
    /// Those with streams, as bits.
    generating: Mutex<u64>,
    samples: Arc<Samples>,
    slot: Slot,
    rules: Vec<Rule>,
    limits: Mutex<Limits>,
    policer: Policer,
    /// The policer has something to do.
    limited: AtomicBool,
    weight: AtomicU32,
    /// Of packet buffers.
    headroom: u32,
    /// `u32::MAX`: its part.
    frames: AtomicU32,
    passes: AtomicU32,
    removed: AtomicBool,
    switch_ports: Arc<Ports>,
    workers: Arc<Workers>,
}

impl Tenant {
    /// `spec`: checked. `frames`: the size of the workers' packet buffers.
    pub(crate) fn new(
        spec: &TenantSpec,
        slot: Slot,
        ports: &Arc<Ports>,
        workers: &Arc<Workers>,
        frames: FrameSize,
    ) -> io::Result<Tenant> {
        let packet_bytes = frames.data as usize;
        // Packets that have grown may fill a whole frame.
        let to_cpu = |port: Option<u32>, packets| Queue::new(if port.is_some() { packets } else { 1 }, frames.stride());
        let tenant = Tenant {
            name: spec.name.as_str().into(),
            vdp: Mutex::new(spec.vdp.clone()),
            ports: spec.ports.clone(),
            cpu_ports: [spec.cpu_port, spec.urgent_cpu_port],
            handovers: (0..workers.count()).map(|_| Handover::new()).collect(),
            cells: (0..workers.count()).map(|_| Arc::new(TenantCells::new())).collect(),
            cpu: Cpu {
                normal: to_cpu(spec.cpu_port, spec.cpu_queue)?,
                urgent: to_cpu(spec.urgent_cpu_port, URGENT_QUEUE)?,
            },
            inject: Cpu {
                normal: Queue::new(spec.cpu_queue, packet_bytes)?,
                urgent: Queue::new(URGENT_QUEUE, packet_bytes)?,
            },
            used_generators: ArrayQueue::new(MAX_CHANGES),
            generating: Mutex::new(0),
            samples: Arc::new(Samples::new(packet_bytes)),
            slot,
            rules: spec.rules.clone(),
            limits: Mutex::default(),
            policer: Policer::default(),
            limited: AtomicBool::new(false),
            weight: AtomicU32::new(1),
            headroom: frames.headroom,
            frames: AtomicU32::new(u32::MAX),
            passes: AtomicU32::new(MAX_PASSES),
            removed: AtomicBool::new(false),
            switch_ports: ports.clone(),
            workers: workers.clone(),
        };
        tenant.apply(spec.limits);
        Ok(tenant)
    }

    fn apply(&self, limits: Limits) {
        let mut current = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        if (limits.packets, limits.bits) != (current.packets, current.bits) {
            self.policer.set(limits.packets, limits.bits);
        }
        self.limited.store(limits.packets.is_some() || limits.bits.is_some(), Ordering::Relaxed);
        self.weight.store(limits.weight, Ordering::Relaxed);
        self.frames.store(limits.frames.unwrap_or(u32::MAX), Ordering::Relaxed);
        self.passes.store(limits.passes.unwrap_or(MAX_PASSES), Ordering::Relaxed);
        *current = limits;
    }

    /// What it may use.
    pub fn limits(&self) -> Limits {
        *self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what it may use. Workers follow within a round. A new rate begins with its whole burst.
    ///
    /// # Errors
    /// If the weight is out of range, or too many changes wait for a worker; nothing was changed then.
    pub fn set_limits(&self, limits: Limits) -> Result<(), SwitchError> {
        check_limits(&limits)?;
        let _room = self.workers.room(1)?;
        self.apply(limits);
        self.workers.send(|_| Change::Limit);
        Ok(())
    }

    /// The rules by which it gets frames.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Its ports that there are, by the program's numbers.
    pub fn ports(&self) -> Vec<PortSummary> {
        let of_program = |mut port: PortSummary| {
            port.number = self.ports.of_program(port.number)?;
            Some(port)
        };
        self.switch_ports.summaries().into_iter().filter_map(of_program).collect()
    }

    /// The counts of its ports since the switch began, by the program's numbers. A device that several tenants have counts the
    /// packets of all.
    pub fn port_stats(&self) -> Vec<PortStats> {
        let of_program = |mut port: PortStats| {
            port.number = self.ports.of_program(port.number)?;
            Some(port)
        };
        self.switch_ports.stats().0.into_iter().filter_map(of_program).collect()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its program and state, to control it.
    pub fn vdp(&self) -> Arc<VirtualDataPlane> {
        self.vdp.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says that packet buffers have less headroom than its program needs, if that is so.
    pub fn headroom_warning(&self) -> Option<String> {
        let (wanted, there) = (self.vdp().headroom(), self.headroom);
        let wanted = match wanted {
            _ if wanted <= there => return None,
            u32::MAX => "any number of".into(),
            bytes => format!("up to {bytes}"),
        };
        Some(format!(
            "the program can add {wanted} bytes to a packet and packet buffers have room for {there}: \
             packets that grow further are dropped and counted as `no_headroom`"
        ))
    }

    /// Gives the tenant another program, with its state. Each worker takes it up between two rounds: every packet runs
    /// through one program or the other. Returns when all have. Other tenants do not notice.
    ///
    /// # Errors
    /// If there are several workers and the program cannot run on them, or if one does not end its round in time; it
    /// will take up the program when it does.
    pub fn replace(&self, vdp: Arc<VirtualDataPlane>) -> Result<(), ReplaceError> {
        if self.is_removed() {
            return Err(ReplaceError::Removed);
        }
        if self.handovers.len() > 1 {
            vdp.shareable()?;
        }
        let generating = *self.generating.lock().unwrap_or_else(PoisonError::into_inner);
        let running = (0..MAX_GENERATORS).filter(|id| generating >> id & 1 == 1);
        self.generate(running.map(|id| (id as u8, None)).collect())?;
        *self.vdp.lock().unwrap_or_else(PoisonError::into_inner) = vdp.clone();
        for (handover, worker) in self.handovers.iter().zip(self.workers.mailboxes()) {
            handover.replace(Executor::new(vdp.clone()), worker, || self.is_removed())?;
        }
        Ok(())
    }

    /// Generates these packets from now on, in the place of those of the generators with these numbers; `None`: no packets. They count
    /// as packets of the control plane, and against the tenant's rates. Another program begins without generators.
    ///
    /// # Errors
    /// If too many changes wait for a worker; nothing was changed then.
    ///
    /// # Panics
    /// If a number is not less than [`MAX_GENERATORS`].
    pub fn generate(&self, mut streams: Vec<(u8, Option<Stream>)>) -> Result<(), SwitchError> {
        let mut generating = self.generating.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|(id, stream)| stream.is_some() || *generating >> id & 1 == 1);
        let _room = self.workers.room(streams.len())?;
        while self.used_generators.pop().is_some() {}
        for (id, stream) in streams {
            assert!(usize::from(id) < MAX_GENERATORS);
            *generating = *generating & !(1 << id) | u64::from(stream.is_some()) << id;
            let generator = Box::new(Generator::new(id, stream, Instant::now()));
            self.workers.send_to_first(Change::Generate(self.slot, generator));
        }
        Ok(())
    }

    /// Worker side: gives back a generator that is no longer used.
    pub(crate) fn give_back(&self, generator: Box<Generator>) {
        // There is room: the control side takes what came back before it sends a change.
        let _ = self.used_generators.push(generator);
    }

    /// Does some work while no packet of the tenant is in its program, so that each sees all of its changes or none.
    /// Its packets wait meanwhile: it should be short.
    ///
    /// # Errors
    /// If a worker does not end its round in time; nothing was done then.
    pub fn between_rounds<R>(&self, work: impl FnOnce() -> R) -> Result<R, WorkerBusy> {
        let mailboxes = self.workers.mailboxes();
        let waiting: Result<Vec<_>, _> =
            self.handovers.iter().zip(mailboxes).map(|(h, worker)| h.pause(worker, || self.is_removed())).collect();
        waiting.map(|_waiting| work())
    }

    /// The number of the CPU port, if there is one.
    pub fn cpu_port(&self) -> Option<u32> {
        self.cpu_ports[0]
    }

    /// The CPU port and the urgent one.
    pub fn cpu_ports(&self) -> [Option<u32>; 2] {
        self.cpu_ports
    }

    /// Its ports.
    pub fn port_numbers(&self) -> &TenantPorts {
        &self.ports
    }

    /// Takes the oldest waiting digest. When too many wait, new ones are lost and counted.
    pub fn next_digest(&self) -> Option<Digest> {
        self.vdp().control().next_digest()
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

    /// As [`Tenant::injector`], by a small queue that the worker empties first, each round.
    pub fn urgent_injector(&self) -> Injector {
        Injector(self.inject.urgent.clone())
    }

    /// Copies packets to the caller as the workers take them in, all or those of one port, with what became of them;
    /// more than the caller takes are lost. The workers pay for it only while it is going on.
    ///
    /// # Errors
    /// If there are too many samplings.
    pub fn sample(&self, port: Option<u32>) -> Result<Sampling, TooManySamplings> {
        Samples::begin(&self.samples, port, 1)
    }

    /// Copies one packet in `rate` to the caller, on average, at random intervals; otherwise as [`Tenant::sample`].
    ///
    /// # Errors
    /// If there are too many samplings.
    pub fn sample_one_in(&self, rate: u32) -> Result<Sampling, TooManySamplings> {
        Samples::begin(&self.samples, None, rate)
    }

    /// Whether the switch is to stop, or the tenant was removed from it.
    pub fn stopping(&self) -> bool {
        self.is_removed() || self.workers.stopping()
    }

    fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }

    /// It is no longer the switch's.
    pub(crate) fn set_removed(&self) {
        self.removed.store(true, Ordering::Release);
    }

    /// The counts now.
    pub fn stats(&self) -> TenantStats {
        let errors = self.vdp().pipeline().errors.len().min(MAX_ERRORS);
        let mut sum = TenantStats { punt_lost: self.cpu.normal.lost() + self.cpu.urgent.lost(), ..Default::default() };
        for cells in &self.cells {
            sum.add(&TenantStats::of_worker(cells, errors));
            let (batches, packets, busy_ns) = (cells.batches.get(), cells.packets.get(), cells.busy_ns.get());
            sum.workers.push(WorkerStats { batches, packets, busy_ns });
        }
        sum
    }

    pub(crate) fn slot(&self) -> Slot {
        self.slot
    }

    /// Numbers that no port of the switch may have.
    pub(crate) fn reserved(&self) -> Vec<u32> {
        self.ports.reserved(self.cpu_ports)
    }

    pub(crate) fn to_classify(&self) -> TenantRules<'_> {
        TenantRules { slot: self.slot, name: &self.name, ports: &self.ports, rules: &self.rules }
    }

    /// Worker side: whether to ask the policer.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        self.limited.load(Ordering::Relaxed)
    }

    /// Worker side.
    pub(crate) fn policer(&self) -> &Policer {
        &self.policer
    }

    /// Worker side: its weight, and the frames it may hold if that is limited apart.
    pub(crate) fn share(&self) -> (u32, Option<u32>) {
        let frames = self.frames.load(Ordering::Relaxed);
        (self.weight.load(Ordering::Relaxed), (frames != u32::MAX).then_some(frames))
    }

    /// Worker side: the most passes of a packet.
    pub(crate) fn max_passes(&self) -> u32 {
        self.passes.load(Ordering::Relaxed)
    }

    /// Worker side.
    pub(crate) fn cpu_queues(&self) -> &Cpu {
        &self.cpu
    }

    /// Worker side.
    pub(crate) fn injection_queues(&self) -> &Cpu {
        &self.inject
    }

    /// Worker side.
    pub(crate) fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Worker side: what it shares with the control side.
    pub(crate) fn handover(&self, worker: usize) -> &Handover {
        &self.handovers[worker]
    }

    /// Worker side: where it counts.
    pub(crate) fn cells(&self, worker: usize) -> &Arc<TenantCells> {
        &self.cells[worker]
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenant").field("name", &self.name).field("vdp", &self.vdp()).finish_non_exhaustive()
    }
}
