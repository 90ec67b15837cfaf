//! The switch and its builder.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::observe::stats::{StageTime, SwitchStats, WorkerCells};
use crate::packet::{FrameSize, MAX_BATCH, Pool, PoolError};
use crate::port::{Port, PortInfo};
use crate::vdp::{BuildError, VirtualDataPlane};
use crate::worker::lane::Lane;
use crate::worker::port_queue::{MAX_PORT, MAX_PORT_QUEUES, PortQueue, Ports, Workers};
use crate::worker::round::Worker;
use crate::worker::tenant::{Tenant, TenantSpec};

/// The name of the tenant of a switch that is built with one program.
const DEFAULT_TENANT: &str = "default";

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

/// Collects what a switch is made of.
pub struct SwitchBuilder {
    tenant: TenantSpec,
    ports: Vec<(u32, Vec<Box<dyn Port>>)>,
    frames: u32,
    frame_size: FrameSize,
    pools: Vec<Pool>,
    batch: usize,
    longest_rest: Option<Duration>,
}

impl SwitchBuilder {
    /// A switch with one tenant, which has all ports, and without ports.
    pub fn new(vdp: Arc<VirtualDataPlane>) -> SwitchBuilder {
        SwitchBuilder {
            tenant: TenantSpec::new(DEFAULT_TENANT, vdp),
            ports: Vec::new(),
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
        self.tenant.cpu_port = Some(number);
        self
    }

    /// Packets the program sends to this port go to the control plane, too, by a small queue of their own: what must
    /// not wait behind a flood of others.
    pub fn urgent_cpu_port(mut self, number: u32) -> SwitchBuilder {
        self.tenant.urgent_cpu_port = Some(number);
        self
    }

    /// Packets that may wait in each direction between worker and control plane; 1024 by default.
    pub fn cpu_queue(mut self, packets: usize) -> SwitchBuilder {
        self.tenant.cpu_queue = packets;
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
        self.tenant.check(count)?;
        let cpu_ports = [self.tenant.cpu_port, self.tenant.urgent_cpu_port];
        let mut numbers: Vec<u32> = cpu_ports.into_iter().flatten().collect();
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
        let workers = Workers::new(count)?;
        let FrameSize { data, .. } = self.frame_size;
        let tenant = Arc::new(Tenant::new(&self.tenant, &workers, data as usize, self.frame_size.stride())?);
        let switch = Arc::new(Switch {
            ports: Ports::new(&queues, &workers, cpu_ports),
            tenant,
            workers,
            cells: (0..count).map(|_| Arc::default()).collect(),
        });
        let workers = self.pools.into_iter().zip(queues).enumerate().map(|(index, (pool, queues))| {
            let lane = Lane::new(&switch.tenant, index);
            Worker::new(index, &switch, pool, queues, lane, self.batch, self.longest_rest)
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

/// A running switch, seen from outside its workers: its ports and tenants.
pub struct Switch {
    ports: Ports,
    tenant: Arc<Tenant>,
    workers: Arc<Workers>,
    /// By worker.
    cells: Vec<Arc<WorkerCells>>,
}

impl Switch {
    /// The tenant that [`SwitchBuilder::new`] gave the switch.
    pub fn default_tenant(&self) -> &Arc<Tenant> {
        &self.tenant
    }

    /// All tenants, in the order they were added.
    pub fn tenants(&self) -> Vec<Arc<Tenant>> {
        vec![self.tenant.clone()]
    }

    /// The tenant of this name.
    pub fn tenant(&self, name: &str) -> Option<Arc<Tenant>> {
        self.tenants().into_iter().find(|tenant| tenant.name() == name)
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
        self.workers.wake();
        Ok(())
    }

    /// Takes a port away. The worker sends what it has for it and gives the port back before its next round; it is
    /// closed by the next call that looks at the switch's ports or counts. Its number is free at once.
    pub fn remove_port(&self, number: u32) -> Result<(), SwitchError> {
        self.ports.remove(number)?;
        self.workers.wake();
        Ok(())
    }

    /// Rounds that every worker has made at least, with and without packets: all live as long as they become more.
    pub fn rounds(&self) -> u64 {
        self.cells.iter().map(|cells| cells.rounds.get()).min().unwrap_or(0)
    }

    /// Whether a worker has still to take up changes of its ports.
    pub fn ports_changing(&self) -> bool {
        self.workers.changing()
    }

    /// Makes the workers return as soon as they have finished their bursts.
    pub fn stop(&self) {
        self.workers.stop();
    }

    /// Whether [`Switch::stop`] was called.
    pub fn stopping(&self) -> bool {
        self.workers.stopping()
    }

    /// The counts now.
    pub fn stats(&self) -> SwitchStats {
        let (ports, removed_ports) = self.ports.stats();
        let stage = |i: usize| {
            self.cells.iter().map(|cells| cells.stages[i].get()).fold(StageTime::default(), |sum, time| StageTime {
                ns: sum.ns + time.ns,
                packets: sum.packets + time.packets,
            })
        };
        SwitchStats { ports, removed_ports, total: self.tenant.stats(), stages: std::array::from_fn(stage) }
    }

    /// Worker side.
    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Worker side: where it counts.
    pub(crate) fn cells(&self, worker: usize) -> &Arc<WorkerCells> {
        &self.cells[worker]
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switch")
            .field("tenants", &self.tenants())
            .field("ports", &self.ports.summaries())
            .finish_non_exhaustive()
    }
}
