//! What a tenant's control side shares with the workers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crossbeam_queue::ArrayQueue;
use hopwright_interp::MAX_PASSES;

use crate::observe::sample::Samples;
use crate::observe::stats::TenantCells;
use crate::packet::FrameSize;
use crate::worker::classifier::Slot;
use crate::worker::cpu::{Cpu, Queue, Signal};
use crate::worker::error::MAX_PORT_CHANGES;
use crate::worker::generator::Generator;
use crate::worker::handover::Handover;
use crate::worker::lane::Lane;
use crate::worker::mailbox::Workers;
use crate::worker::policer::Policer;
use crate::worker::tenant_ports::TenantPorts;
use crate::worker::tenant_spec::{Limits, TenantSpec};

/// Packets that may wait in each of the two urgent queues.
const URGENT_QUEUE: usize = 256;

/// The queues between a tenant's control plane and the workers, normal and urgent ones.
struct QueueSizes {
    /// Packets to the control plane.
    packets: [usize; 2],
    /// Packets that it sends.
    injectable: [usize; 2],
    /// Bytes of a packet to it: one that has grown may fill a whole frame.
    punted: usize,
    /// Bytes of one that it sends.
    injected: usize,
}

impl QueueSizes {
    fn of([normal, urgent]: [Option<u32>; 2], packets: usize, frames: FrameSize) -> QueueSizes {
        let with = |port: Option<u32>, packets: usize| if port.is_some() { packets } else { 1 };
        QueueSizes {
            packets: [with(normal, packets), with(urgent, URGENT_QUEUE)],
            injectable: [packets, with(urgent, URGENT_QUEUE)],
            punted: frames.stride(),
            injected: frames.data as usize,
        }
    }
}

/// What a tenant takes beside its program: the queues of its control plane, and what each worker has of it.
pub(crate) fn footprint(cpu_ports: [Option<u32>; 2], cpu_queue: usize, frames: FrameSize, workers: usize) -> u64 {
    /// Counters, schedules, and the program's memory of each worker.
    const BESIDE: u64 = 256 << 10;
    let sizes = QueueSizes::of(cpu_ports, cpu_queue, frames);
    let to_cpu = sizes.packets.into_iter().map(|packets| Queue::footprint(packets, sizes.punted));
    let from_cpu = sizes.injectable.into_iter().map(|packets| Queue::footprint(packets, sizes.injected));
    let each = (BESIDE + Lane::footprint()).saturating_mul(workers as u64);
    to_cpu.chain(from_cpu).fold(each, u64::saturating_add)
}

/// What a tenant's control side shares with the workers.
pub(crate) struct TenantState {
    pub slot: Slot,
    pub ports: TenantPorts,
    pub cpu_ports: [Option<u32>; 2],
    /// By worker.
    pub handovers: Vec<Handover>,
    /// By worker.
    pub cells: Vec<Arc<TenantCells>>,
    pub cpu: Cpu,
    pub inject: Cpu,
    /// Generators that its first worker no longer uses.
    used_generators: ArrayQueue<Box<Generator>>,
    pub samples: Arc<Samples>,
    pub policer: Policer,
    /// The policer has something to do.
    limited: AtomicBool,
    weight: AtomicU32,
    /// `u32::MAX`: its part.
    frames: AtomicU32,
    passes: AtomicU32,
}

impl TenantState {
    /// `spec`: checked; its limits are set apart. `frames`: the size of the workers' packet buffers.
    pub(crate) fn new(spec: &TenantSpec, slot: Slot, workers: &Workers, frames: FrameSize) -> io::Result<TenantState> {
        let sizes = QueueSizes::of([spec.cpu_port, spec.urgent_cpu_port], spec.cpu_queue, frames);
        let signal = Signal::new()?;
        let urgent = if spec.urgent_cpu_port.is_some() { Signal::new()? } else { signal.clone() };
        let (to_cpu, from_cpu) = (
            |packets, signal| Queue::new(packets, sizes.punted, signal),
            |packets| Queue::new(packets, sizes.injected, &workers.injected),
        );
        let workers = workers.count();
        Ok(TenantState {
            slot,
            ports: spec.ports.clone(),
            cpu_ports: [spec.cpu_port, spec.urgent_cpu_port],
            handovers: (0..workers).map(|_| Handover::new()).collect(),
            cells: (0..workers).map(|_| Arc::new(TenantCells::new())).collect(),
            cpu: Cpu { normal: to_cpu(sizes.packets[0], &signal), urgent: to_cpu(sizes.packets[1], &urgent) },
            inject: Cpu { normal: from_cpu(sizes.injectable[0]), urgent: from_cpu(sizes.injectable[1]) },
            used_generators: ArrayQueue::new(MAX_PORT_CHANGES),
            samples: Arc::new(Samples::new(sizes.injected)),
            policer: Policer::default(),
            limited: AtomicBool::new(false),
            weight: AtomicU32::new(1),
            frames: AtomicU32::new(u32::MAX),
            passes: AtomicU32::new(MAX_PASSES),
        })
    }

    /// Sets what it may use instead of `before`.
    pub(crate) fn set_limits(&self, before: &Limits, limits: &Limits) {
        if (limits.packets, limits.bits) != (before.packets, before.bits) {
            self.policer.set(limits.packets, limits.bits);
        }
        self.limited.store(limits.packets.is_some() || limits.bits.is_some(), Ordering::Relaxed);
        self.weight.store(limits.weight, Ordering::Relaxed);
        self.frames.store(limits.frames.unwrap_or(u32::MAX), Ordering::Relaxed);
        self.passes.store(limits.passes.unwrap_or(MAX_PASSES), Ordering::Relaxed);
    }

    /// Drops generators that came back.
    pub(crate) fn drop_used_generators(&self) {
        while self.used_generators.pop().is_some() {}
    }

    /// Worker side: gives back a generator that is no longer used.
    pub(crate) fn give_back(&self, generator: Box<Generator>) {
        // There is room: the control side takes what came back before it sends a change.
        let _ = self.used_generators.push(generator);
    }

    /// Worker side: whether to ask the policer.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        self.limited.load(Ordering::Relaxed)
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
}
