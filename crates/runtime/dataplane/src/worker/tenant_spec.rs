//! What a tenant is made of.

use std::sync::Arc;

use hopwright_ir::Pipeline;

use crate::footprint;
use crate::packet::FrameSize;
use crate::port::MAX_PORT;
use crate::vdp::VirtualDataPlane;
use crate::worker::classifier::Rule;
use crate::worker::error::SwitchError;
use crate::worker::policer::Rate;
use crate::worker::schedule::MAX_WEIGHT;
use crate::worker::tenant_ports::TenantPorts;
use crate::worker::tenant_state;

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
    /// Bytes of memory that it may have ([`Switch::needs`](crate::Switch::needs)). `None`: no limit.
    pub memory: Option<u64>,
}

impl Limits {
    /// The largest weight.
    pub const MAX_WEIGHT: u32 = MAX_WEIGHT;

    pub(crate) fn check(&self) -> Result<(), SwitchError> {
        match self.weight {
            1..=MAX_WEIGHT => Ok(()),
            weight => Err(SwitchError::Weight(weight)),
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { packets: None, bits: None, weight: 1, frames: None, passes: None, memory: None }
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

    /// The bytes of memory that a tenant needs with a program, on a switch with frames of this size and this many workers: see
    /// [`Switch::needs`](crate::Switch::needs).
    pub fn needs(
        pipeline: &Pipeline,
        cpu_ports: [Option<u32>; 2],
        cpu_queue: usize,
        frames: FrameSize,
        workers: usize,
    ) -> u64 {
        let beside = tenant_state::footprint(cpu_ports, cpu_queue, frames, workers);
        beside.saturating_add(footprint::of(pipeline, workers as u64))
    }

    /// Checks port numbers, and that the program can run on this many workers.
    pub(crate) fn check(&self, workers: usize) -> Result<(), SwitchError> {
        self.ports.check([self.cpu_port, self.urgent_cpu_port])?;
        self.limits.check()?;
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

impl TenantPorts {
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
