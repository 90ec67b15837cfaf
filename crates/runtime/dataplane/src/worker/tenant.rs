//! A tenant: a program on a switch, with the queues, counts and port numbers that belong to it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hopwright_interp::Digest;
use hopwright_ir::Pipeline;

use crate::account::MemoryExceeded;
use crate::build_error::BuildError;
use crate::executor::Executor;
use crate::footprint;
use crate::observe::sample::{Samples, Sampling, TooManySamplings};
use crate::observe::stats::{MAX_ERRORS, PortStats, TenantStats, WorkerStats};
use crate::packet::FrameSize;
use crate::vdp::VirtualDataPlane;
use crate::worker::classifier::{Rule, Slot, TenantRules};
use crate::worker::cpu::{CpuQueue, Injector};
use crate::worker::error::{SwitchError, WorkerBusy};
use crate::worker::generator::{Generator, MAX_GENERATORS, Stream};
use crate::worker::mailbox::{Change, Workers};
use crate::worker::ports::{PortSummary, Ports};
use crate::worker::tenant_ports::TenantPorts;
use crate::worker::tenant_spec::{Limits, TenantSpec};
use crate::worker::tenant_state::{self, TenantState};

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
    #[error(transparent)]
    Memory(#[from] MemoryExceeded),
    #[error("the tenant was removed from its switch")]
    Removed,
}

/// A program on a switch, seen from outside the workers: what a control plane holds.
///
/// Its port numbers are those of [`TenantSpec::ports`].
pub struct Tenant {
    name: Box<str>,
    vdp: Mutex<Arc<VirtualDataPlane>>,
    /// Generators with streams, as bits.
    generating: Mutex<u64>,
    rules: Vec<Rule>,
    limits: Mutex<Limits>,
    /// Of packet buffers.
    headroom: u32,
    /// Bytes of memory that it takes beside its program.
    beside: u64,
    state: Arc<TenantState>,
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
    ) -> Result<Tenant, SwitchError> {
        let beside =
            tenant_state::footprint([spec.cpu_port, spec.urgent_cpu_port], spec.cpu_queue, frames, workers.count());
        let tenant = Tenant {
            name: spec.name.as_str().into(),
            vdp: Mutex::new(spec.vdp.clone()),
            generating: Mutex::new(0),
            rules: spec.rules.clone(),
            limits: Mutex::default(),
            headroom: frames.headroom,
            beside,
            state: Arc::new(TenantState::new(spec, slot, workers, frames)?),
            removed: AtomicBool::new(false),
            switch_ports: ports.clone(),
            workers: workers.clone(),
        };
        tenant.apply(spec.limits);
        tenant.admit(&spec.vdp)?;
        Ok(tenant)
    }

    /// Opens the account of a data plane for the program that the tenant is to run next, with its limit.
    ///
    /// # Errors
    /// It needs more than the tenant may have.
    pub fn admit(&self, vdp: &VirtualDataPlane) -> Result<(), MemoryExceeded> {
        let fixed = self.beside.saturating_add(vdp.needs(self.workers.count()));
        vdp.control().account().open(&self.name, fixed, self.limits().memory)
    }

    /// Checks that the tenant may have the memory that a program needs, before anything of it is allocated. Its machine code, which is
    /// not there yet, comes on top.
    ///
    /// # Errors
    /// It may not.
    pub fn check_memory(&self, pipeline: &Pipeline) -> Result<(), MemoryExceeded> {
        let needs = self.beside.saturating_add(footprint::of(pipeline, self.workers.count() as u64));
        match self.limits().memory {
            Some(may) if needs > may => Err(MemoryExceeded { tenant: self.name.clone(), needs, may }),
            _ => Ok(()),
        }
    }

    /// The bytes of memory that it has.
    pub fn memory(&self) -> u64 {
        self.vdp().control().account().held()
    }

    fn apply(&self, limits: Limits) {
        let mut current = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.set_limits(&current, &limits);
        *current = limits;
    }

    /// What it may use.
    pub fn limits(&self) -> Limits {
        *self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what it may use. Workers follow within a round. A new rate begins with its whole burst.
    ///
    /// # Errors
    /// If the weight is out of range, the tenant has more memory than the limit, or too many changes wait for a worker; nothing was
    /// changed then.
    pub fn set_limits(&self, limits: Limits) -> Result<(), SwitchError> {
        limits.check()?;
        let before = self.limits();
        // Memory is nothing to workers.
        let others = Limits { memory: limits.memory, ..before } != limits;
        let _room = others.then(|| self.workers.room(1)).transpose()?;
        {
            let current = self.vdp.lock().unwrap_or_else(PoisonError::into_inner);
            current.control().account().set_limit(limits.memory)?;
            self.apply(limits);
        }
        if !others {
            return Ok(());
        }
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
            port.number = self.state.ports.of_program(port.number)?;
            Some(port)
        };
        self.switch_ports.summaries().into_iter().filter_map(of_program).collect()
    }

    /// The counts of its ports since the switch began, by the program's numbers. A device that several tenants have counts the
    /// packets of all.
    pub fn port_stats(&self) -> Vec<PortStats> {
        let of_program = |mut port: PortStats| {
            port.number = self.state.ports.of_program(port.number)?;
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
    /// If there are several workers and the program cannot run on them, or the tenant may not have the memory that it needs: then nothing
    /// was changed. If a worker does not end its round in time; it will take up the program when it does.
    pub fn replace(&self, vdp: Arc<VirtualDataPlane>) -> Result<(), ReplaceError> {
        if self.is_removed() {
            return Err(ReplaceError::Removed);
        }
        if self.state.handovers.len() > 1 {
            vdp.shareable()?;
        }
        self.admit(&vdp)?;
        let generating = *self.generating.lock().unwrap_or_else(PoisonError::into_inner);
        let running = (0..MAX_GENERATORS).filter(|id| generating >> id & 1 == 1);
        self.generate(running.map(|id| (id as u8, None)).collect())?;
        self.hand_over(vdp)
    }

    /// Runs other code for the same tables and objects ([`VirtualDataPlane::recoded`]) from now on. Generators go on.
    ///
    /// # Errors
    /// As [`Tenant::replace`].
    pub fn recode(&self, vdp: Arc<VirtualDataPlane>) -> Result<(), ReplaceError> {
        if self.is_removed() {
            return Err(ReplaceError::Removed);
        }
        if self.state.handovers.len() > 1 {
            vdp.shareable()?;
        }
        self.hand_over(vdp)
    }

    fn hand_over(&self, vdp: Arc<VirtualDataPlane>) -> Result<(), ReplaceError> {
        {
            let mut current = self.vdp.lock().unwrap_or_else(PoisonError::into_inner);
            // The limit may have changed.
            self.admit(&vdp)?;
            *current = vdp.clone();
        }
        for (handover, worker) in self.state.handovers.iter().zip(self.workers.mailboxes()) {
            handover.replace(Executor::new(vdp.clone()), &worker.attention, || self.is_removed())?;
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
        self.state.drop_used_generators();
        for (id, stream) in streams {
            assert!(usize::from(id) < MAX_GENERATORS);
            *generating = *generating & !(1 << id) | u64::from(stream.is_some()) << id;
            let generator = Box::new(Generator::new(id, stream, Instant::now()));
            self.workers.send_to_first(Change::Generate(self.state.slot, generator));
        }
        Ok(())
    }

    /// Does some work while no packet of the tenant is in its program, so that each sees all of its changes or none.
    /// Its packets wait meanwhile: it should be short.
    ///
    /// # Errors
    /// If a worker does not end its round in time; nothing was done then.
    pub fn between_rounds<R>(&self, work: impl FnOnce() -> R) -> Result<R, WorkerBusy> {
        let mailboxes = self.workers.mailboxes();
        let waiting: Result<Vec<_>, _> = self
            .state
            .handovers
            .iter()
            .zip(mailboxes)
            .map(|(h, worker)| h.pause(&worker.attention, || self.is_removed()))
            .collect();
        waiting.map(|_waiting| work())
    }

    /// The number of the CPU port, if there is one.
    pub fn cpu_port(&self) -> Option<u32> {
        self.state.cpu_ports[0]
    }

    /// The CPU port and the urgent one.
    pub fn cpu_ports(&self) -> [Option<u32>; 2] {
        self.state.cpu_ports
    }

    /// Its ports.
    pub fn port_numbers(&self) -> &TenantPorts {
        &self.state.ports
    }

    /// Takes the oldest waiting digest. When too many wait, new ones are lost and counted.
    pub fn next_digest(&self) -> Option<Digest> {
        self.vdp().control().next_digest()
    }

    /// Where packets to the CPU port arrive.
    pub fn cpu(&self) -> CpuQueue {
        CpuQueue(self.state.cpu.normal.clone())
    }

    /// Where packets to the urgent CPU port arrive.
    pub fn urgent_cpu(&self) -> CpuQueue {
        CpuQueue(self.state.cpu.urgent.clone())
    }

    /// Where the control plane sends packets.
    pub fn injector(&self) -> Injector {
        Injector(self.state.inject.normal.clone())
    }

    /// As [`Tenant::injector`], by a small queue that the worker empties first, each round.
    pub fn urgent_injector(&self) -> Injector {
        Injector(self.state.inject.urgent.clone())
    }

    /// Copies packets to the caller as the workers take them in, all or those of one port, with what became of them;
    /// more than the caller takes are lost. The workers pay for it only while it is going on.
    ///
    /// # Errors
    /// If there are too many samplings.
    pub fn sample(&self, port: Option<u32>) -> Result<Sampling, TooManySamplings> {
        Samples::begin(&self.state.samples, port, 1)
    }

    /// Copies one packet in `rate` to the caller, on average, at random intervals; otherwise as [`Tenant::sample`].
    ///
    /// # Errors
    /// If there are too many samplings.
    pub fn sample_one_in(&self, rate: u32) -> Result<Sampling, TooManySamplings> {
        Samples::begin(&self.state.samples, None, rate)
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
        // Whoever waits for its packets finds that out.
        self.state.cpu.normal.notify();
        self.state.cpu.urgent.notify();
    }

    /// The counts now.
    pub fn stats(&self) -> TenantStats {
        let errors = self.vdp().pipeline().errors.len().min(MAX_ERRORS);
        let mut sum = TenantStats {
            punt_lost: self.state.cpu.normal.lost() + self.state.cpu.urgent.lost(),
            ..Default::default()
        };
        for cells in &self.state.cells {
            sum.add(&TenantStats::of_worker(cells, errors));
            let (batches, packets, busy_ns) = (cells.batches.get(), cells.packets.get(), cells.busy_ns.get());
            sum.workers.push(WorkerStats { batches, packets, busy_ns });
        }
        sum
    }

    /// Numbers that no port of the switch may have.
    pub(crate) fn reserved(&self) -> Vec<u32> {
        self.state.ports.reserved(self.state.cpu_ports)
    }

    pub(crate) fn to_classify(&self) -> TenantRules<'_> {
        TenantRules { slot: self.state.slot, name: &self.name, ports: &self.state.ports, rules: &self.rules }
    }

    /// What it shares with the workers.
    pub(crate) fn state(&self) -> &Arc<TenantState> {
        &self.state
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenant").field("name", &self.name).field("vdp", &self.vdp()).finish_non_exhaustive()
    }
}
