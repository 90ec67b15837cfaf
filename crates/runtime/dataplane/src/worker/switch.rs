//! The switch and its builder.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::observe::stats::{Cell, StageTime, SwitchStats, TenantStats, WorkerCells};
use crate::packet::{FrameSize, MAX_BATCH, Pool};
use crate::port::{MAX_PORT, MAX_PORT_QUEUES, Port};
use crate::vdp::VirtualDataPlane;
use crate::worker::classifier::{Addresses, Classifier, MAX_TENANTS, RuleError, Slot, TenantRules};
use crate::worker::error::{SwitchError, WorkerBusy};
use crate::worker::handover::wait_until;
use crate::worker::lane::Lane;
use crate::worker::port_queue::{Change, Mailbox, PortQueue, PortSummary, Ports, Retired, Workers};
use crate::worker::round::Worker;
use crate::worker::tenant::{Tenant, TenantSpec};

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
        let shared = Workers::new(count)?;
        let switch = Arc::new(Switch {
            ports: Arc::new(Ports::new(&queues, &shared)),
            default_tenant: OnceLock::new(),
            tenants: Mutex::default(),
            workers: shared,
            cells: (0..count).map(|_| Arc::default()).collect(),
            frame_size: self.pools[0].frame_size(),
            started: Instant::now(),
            adapting: Once::new(),
        });
        if let Some(mut tenant) = self.tenant {
            (tenant.cpu_port, tenant.urgent_cpu_port) = (self.cpu_port, self.urgent_cpu_port);
            tenant.cpu_queue = self.queue.unwrap_or(tenant.cpu_queue);
            let tenant = switch.add_tenant(&tenant)?;
            switch.default_tenant.get_or_init(|| tenant);
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

/// A running switch, seen from outside its workers: its ports and tenants.
pub struct Switch {
    ports: Arc<Ports>,
    default_tenant: OnceLock<Arc<Tenant>>,
    tenants: Mutex<Tenants>,
    workers: Arc<Workers>,
    /// By worker.
    cells: Vec<Arc<WorkerCells>>,
    frame_size: FrameSize,
    started: Instant,
    /// Called when the first worker runs.
    adapting: Once,
}

impl Drop for Switch {
    /// No worker is left: each has the switch.
    fn drop(&mut self) {
        self.workers.mailboxes().iter().for_each(Mailbox::clear);
    }
}

/// The tenants as the control plane sees them.
#[derive(Default)]
struct Tenants {
    list: Vec<Arc<Tenant>>,
    /// Those that were removed, and workers that have still to give them up.
    leaving: Vec<(Arc<Tenant>, usize)>,
    /// Counts of those that are gone.
    gone: TenantStats,
}

impl Tenants {
    /// Drops what workers have retired.
    fn collect(&mut self, workers: &Workers) {
        for worker in workers.mailboxes() {
            while let Some(retired) = worker.next_retired() {
                let Retired::Lane(lane) = retired else { continue };
                let Some(at) = self.leaving.iter().position(|(tenant, _)| Arc::ptr_eq(tenant, &lane.tenant)) else {
                    continue;
                };
                self.leaving[at].1 -= 1;
                if self.leaving[at].1 == 0 {
                    let (tenant, _) = self.leaving.remove(at);
                    self.gone.add(&tenant.stats());
                }
            }
        }
    }

    /// The rules of all tenants and perhaps one more.
    fn classifier(&self, another: Option<(Slot, &TenantSpec)>) -> Result<Arc<Classifier>, RuleError> {
        let mut rules: Vec<TenantRules<'_>> = self.list.iter().map(|tenant| tenant.to_classify()).collect();
        rules.extend(another.map(|(slot, spec)| TenantRules {
            slot,
            name: &spec.name,
            ports: &spec.ports,
            rules: &spec.rules,
        }));
        Ok(Arc::new(Classifier::new(&rules)?))
    }
}

impl Switch {
    /// The tenant that [`SwitchBuilder::new`] gave the switch.
    ///
    /// # Panics
    /// If it was built without tenants.
    pub fn default_tenant(&self) -> &Arc<Tenant> {
        match self.default_tenant.get() {
            Some(tenant) => tenant,
            None => panic!("the switch was built without tenants"),
        }
    }

    /// All tenants, in the order they were added.
    pub fn tenants(&self) -> Vec<Arc<Tenant>> {
        self.with_tenants(|tenants| tenants.list.clone())
    }

    /// The tenant of this name.
    pub fn tenant(&self, name: &str) -> Option<Arc<Tenant>> {
        self.tenants().into_iter().find(|tenant| tenant.name() == name)
    }

    /// Destination addresses of the frames of a port that tenants want.
    pub fn addresses(&self, port: u32) -> Addresses {
        self.with_tenants(|tenants| {
            let mut addresses = Addresses::default();
            tenants.list.iter().for_each(|tenant| addresses.add(port, &tenant.to_classify()));
            addresses
        })
    }

    /// Adds a tenant. Each worker takes it up before its next round; other tenants do not notice. Its ports may be added
    /// later than it.
    ///
    /// # Errors
    /// If the name or a rule is another tenant's, there are [`MAX_TENANTS`], a number or the program is not suitable, or a
    /// worker has not taken up earlier changes. Nothing was changed then.
    pub fn add_tenant(&self, spec: &TenantSpec) -> Result<Arc<Tenant>, SwitchError> {
        spec.check(self.workers.count())?;
        self.with_tenants(|tenants| {
            if tenants.list.iter().any(|tenant| tenant.name() == spec.name) {
                return Err(SwitchError::TenantTwice(spec.name.clone()));
            }
            let taken = |slot: &Slot| tenants.list.iter().any(|tenant| tenant.slot() == *slot);
            let slot = (0..MAX_TENANTS as Slot).find(|slot| !taken(slot)).ok_or(SwitchError::TooManyTenants)?;
            let classifier = tenants.classifier(Some((slot, spec)))?;
            let tenant = Arc::new(Tenant::new(spec, slot, &self.ports, &self.workers, self.frame_size)?);
            self.ports.reserve(&spec.reserved())?;
            let room = self.workers.room(2).inspect_err(|_| self.ports.release(&spec.reserved()))?;
            self.workers.send(|worker| Change::AddTenant(Lane::new(&tenant, worker)));
            self.workers.send(|_| Change::Classify(classifier.clone()));
            drop(room);
            tenants.list.push(tenant.clone());
            Ok(tenant)
        })
    }

    /// Takes a tenant away. Its packets that wait are dropped; other tenants do not notice. Returns when no worker that runs has
    /// it any more.
    ///
    /// # Errors
    /// If there is none, or a worker has not taken up earlier changes; nothing was changed then. If a worker does not end
    /// its round in time; it will give up the tenant when it does.
    pub fn remove_tenant(&self, name: &str) -> Result<(), SwitchError> {
        let removed = self.with_tenants(|tenants| {
            let at = tenants.list.iter().position(|tenant| tenant.name() == name);
            let at = at.ok_or_else(|| SwitchError::NoSuchTenant(name.into()))?;
            let room = self.workers.room(2)?;
            let tenant = tenants.list.remove(at);
            let classifier = tenants.classifier(None).inspect_err(|_| tenants.list.insert(at, tenant.clone()))?;
            self.workers.send(|_| Change::Classify(classifier.clone()));
            self.workers.send(|_| Change::RemoveTenant(tenant.slot()));
            drop(room);
            tenant.set_removed();
            self.ports.release(&tenant.reserved());
            tenants.leaving.push((tenant.clone(), self.workers.count()));
            Ok::<_, SwitchError>(tenant)
        })?;
        let gone =
            || self.with_tenants(|tenants| !tenants.leaving.iter().any(|(tenant, _)| Arc::ptr_eq(tenant, &removed)));
        for worker in self.workers.mailboxes() {
            if !wait_until(worker, gone) {
                return Err(SwitchError::WorkerBusy(WorkerBusy));
            }
        }
        Ok(())
    }

    fn with_tenants<R>(&self, work: impl FnOnce(&mut Tenants) -> R) -> R {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        tenants.collect(&self.workers);
        work(&mut tenants)
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

    /// Lets workers run again after [`Switch::stop`]. To be called when all have returned.
    pub fn resume(&self) {
        self.workers.resume();
    }

    /// Calls this, unless it was called before.
    pub(crate) fn start_adapting(self: &Arc<Switch>, start: impl FnOnce(&Arc<Switch>)) {
        self.adapting.call_once(|| start(self));
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
        let sum = |of: fn(&WorkerCells) -> &Cell| self.cells.iter().map(|cells| of(cells).get()).sum();
        let total = self.with_tenants(|tenants| {
            let mut total = tenants.gone.clone();
            let leaving = tenants.leaving.iter().map(|(tenant, _)| tenant);
            tenants.list.iter().chain(leaving).for_each(|tenant| total.add(&tenant.stats()));
            total
        });
        SwitchStats {
            ports,
            removed_ports,
            total,
            no_tenant: sum(|cells| &cells.no_tenant),
            group_copies: sum(|cells| &cells.group_copies),
            stages: std::array::from_fn(stage),
        }
    }

    /// Counts frames to multicast addresses and to the broadcast address from now on ([`PortStats`](crate::PortStats)). That takes a
    /// look at each packet's destination.
    pub fn count_groups(&self) {
        self.cells.iter().for_each(|cells| cells.count_groups.store(true, Ordering::Relaxed));
    }

    /// When it was made.
    pub(crate) fn started(&self) -> Instant {
        self.started
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
