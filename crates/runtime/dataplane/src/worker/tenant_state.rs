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
use crate::worker::cpu::{Cpu, Queue};
use crate::worker::error::MAX_CHANGES;
use crate::worker::generator::Generator;
use crate::worker::handover::Handover;
use crate::worker::policer::Policer;
use crate::worker::tenant_ports::TenantPorts;
use crate::worker::tenant_spec::{Limits, TenantSpec};

/// Packets that may wait in each of the two urgent queues.
const URGENT_QUEUE: usize = 256;

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
    pub(crate) fn new(spec: &TenantSpec, slot: Slot, workers: usize, frames: FrameSize) -> io::Result<TenantState> {
        let packet_bytes = frames.data as usize;
        // Packets that have grown may fill a whole frame.
        let to_cpu = |port: Option<u32>, packets| Queue::new(if port.is_some() { packets } else { 1 }, frames.stride());
        Ok(TenantState {
            slot,
            ports: spec.ports.clone(),
            cpu_ports: [spec.cpu_port, spec.urgent_cpu_port],
            handovers: (0..workers).map(|_| Handover::new()).collect(),
            cells: (0..workers).map(|_| Arc::new(TenantCells::new())).collect(),
            cpu: Cpu {
                normal: to_cpu(spec.cpu_port, spec.cpu_queue)?,
                urgent: to_cpu(spec.urgent_cpu_port, URGENT_QUEUE)?,
            },
            inject: Cpu {
                normal: Queue::new(spec.cpu_queue, packet_bytes)?,
                urgent: Queue::new(URGENT_QUEUE, packet_bytes)?,
            },
            used_generators: ArrayQueue::new(MAX_CHANGES),
            samples: Arc::new(Samples::new(packet_bytes)),
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
