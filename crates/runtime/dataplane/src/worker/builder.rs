//! What a switch is made of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::packet::{FrameSize, MAX_BATCH, Pool};
use crate::port::{MAX_PORT, MAX_PORT_QUEUES, Port};
use crate::vdp::VirtualDataPlane;
use crate::worker::error::SwitchError;
use crate::worker::mailbox::Workers;
use crate::worker::port_queue::PortQueue;
use crate::worker::round::Worker;
use crate::worker::switch::Switch;
use crate::worker::tenant_spec::TenantSpec;

/// The name of the tenant of a switch that is built with one program.
const DEFAULT_TENANT: &str = "default";

/// Collects what a switch is made of.
pub struct SwitchBuilder {
    /// The first.
    tenant: Option<TenantSpec>,
    cpu_port: Option<u32>,
    urgent_cpu_port: Option<u32>,
    queue: Option<usize>,
    ports: Vec<(u32, Vec<Box<dyn Port>>)>,
    frames: u32,
    /// As wanted.
    frame_size: Option<FrameSize>,
    pools: Vec<Pool>,
    batch: usize,
    longest_rest: Option<Duration>,
}

impl SwitchBuilder {
    /// A switch with one tenant, which gets every frame of every port, and without ports.
    pub fn new(vdp: Arc<VirtualDataPlane>) -> SwitchBuilder {
        SwitchBuilder { tenant: Some(TenantSpec::new(DEFAULT_TENANT, vdp)), ..SwitchBuilder::without_tenants() }
    }

    /// A switch without ports and tenants; see [`Switch::add_tenant`].
    pub fn without_tenants() -> SwitchBuilder {
        SwitchBuilder {
            tenant: None,
            cpu_port: None,
            urgent_cpu_port: None,
            queue: None,
            ports: Vec::new(),
            frames: 2048,
            frame_size: None,
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
        self.queue = Some(packets);
        self
    }

    /// Packet buffers, how many and how large. By default 2048 of [`FrameSize::JUMBO`], with more headroom if the first
    /// tenant's program needs it. There are at least two batches.
    pub fn pool(mut self, frames: u32, size: FrameSize) -> SwitchBuilder {
        self.frames = frames.max(2 * MAX_BATCH as u32);
        self.frame_size = Some(size);
        self
    }

    /// The packet buffers themselves, a pool for each worker, for ports that share their memory. There are as many
    /// workers as pools.
    pub fn pools(mut self, pools: Vec<Pool>) -> SwitchBuilder {
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
            let default = || FrameSize::JUMBO.with_headroom(self.tenant.as_ref().map_or(0, |t| t.vdp.headroom()));
            self.pools.push(Pool::new(self.frames, self.frame_size.unwrap_or_else(default))?);
        }
        let count = self.pools.len();
        let mut numbers: Vec<u32> = Vec::new();
        // As many as there may ever be: adding one allocates nothing.
        let mut queues: Vec<Vec<PortQueue>> = (0..count).map(|_| Vec::with_capacity(MAX_PORT_QUEUES)).collect();
        for (number, ports) in self.ports {
            if number > MAX_PORT {
                return Err(SwitchError::PortNumber(number));
            }
            if numbers.contains(&number) {
                return Err(SwitchError::PortTwice(number));
            }
            numbers.push(number);
            if ports.len() != count {
                return Err(SwitchError::PortsPerWorker { ports: ports.len(), workers: count });
            }
            for (queues, port) in queues.iter_mut().zip(ports) {
                queues.push(PortQueue::new(number, port));
            }
        }
        let switch = Arc::new(Switch::new(&queues, Workers::new(count)?, self.pools[0].frame_size()));
        if let Some(mut tenant) = self.tenant {
            (tenant.cpu_port, tenant.urgent_cpu_port) = (self.cpu_port, self.urgent_cpu_port);
            tenant.cpu_queue = self.queue.unwrap_or(tenant.cpu_queue);
            switch.add_default_tenant(&tenant)?;
        }
        let workers =
            self.pools.into_iter().zip(queues).enumerate().map(|(index, (pool, queues))| {
                Worker::new(index, &switch, pool, queues, self.batch, self.longest_rest)
            });
        let workers = workers.collect();
        Ok((switch, workers))
    }
}

impl fmt::Debug for SwitchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwitchBuilder")
            .field("tenant", &self.tenant)
            .field("ports", &self.ports.len())
            .finish_non_exhaustive()
    }
}
