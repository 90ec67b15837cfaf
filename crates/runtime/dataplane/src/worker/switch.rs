//! The switch and its builder.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::Instant;

use hopwright_ir::Pipeline;

use crate::observe::stats::{Cell, StageTime, SwitchStats, TenantStats, WorkerCells};
use crate::packet::FrameSize;
use crate::port::Port;
use crate::vdp::VirtualDataPlane;
use crate::worker::classifier::{Addresses, Classifier, MAX_TENANTS, RuleError, Slot, TenantRules};
use crate::worker::error::{SwitchError, WorkerBusy};
use crate::worker::lane::Lane;
use crate::worker::mailbox::{Change, Mailbox, Retired, Workers};
use crate::worker::port_queue::PortQueue;
use crate::worker::ports::{PortSummary, Ports};
use crate::worker::tenant::Tenant;
use crate::worker::tenant_spec::TenantSpec;
use crate::worker::tenant_state;

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
                let Some(at) = self.leaving.iter().position(|(tenant, _)| Arc::ptr_eq(tenant.state(), &lane.tenant))
                else {
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
    /// A switch without tenants, whose workers have these port queues.
    pub(super) fn new(queues: &[Vec<PortQueue>], workers: Arc<Workers>, frame_size: FrameSize) -> Switch {
        Switch {
            ports: Arc::new(Ports::new(queues, &workers)),
            default_tenant: OnceLock::new(),
            tenants: Mutex::default(),
            cells: queues.iter().map(|_| Arc::default()).collect(),
            workers,
            frame_size,
            started: Instant::now(),
            adapting: Once::new(),
        }
    }

    pub(super) fn add_default_tenant(&self, tenant: &TenantSpec) -> Result<(), SwitchError> {
        let tenant = self.add_tenant(tenant)?;
        self.default_tenant.get_or_init(|| tenant);
        Ok(())
    }

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
    /// If the name or a rule is another tenant's, there are [`MAX_TENANTS`], a number or the program is not suitable, it needs more memory
    /// than the tenant may have, or a worker has not taken up earlier changes. Nothing was changed then.
    pub fn add_tenant(&self, spec: &TenantSpec) -> Result<Arc<Tenant>, SwitchError> {
        spec.check(self.workers.count())?;
        self.with_tenants(|tenants| {
            if tenants.list.iter().any(|tenant| tenant.name() == spec.name) {
                return Err(SwitchError::TenantTwice(spec.name.clone()));
            }
            let taken = |slot: &Slot| tenants.list.iter().any(|tenant| tenant.state().slot == *slot);
            let slot = (0..MAX_TENANTS as Slot).find(|slot| !taken(slot)).ok_or(SwitchError::TooManyTenants)?;
            let classifier = tenants.classifier(Some((slot, spec)))?;
            let tenant = Arc::new(Tenant::new(spec, slot, &self.ports, &self.workers, self.frame_size)?);
            self.ports.reserve(&spec.reserved())?;
            let room = self.workers.room(2).inspect_err(|_| self.ports.release(&spec.reserved()))?;
            self.workers.send(|worker| Change::AddTenant(Lane::new(tenant.state(), tenant.vdp(), worker)));
            self.workers.send(|_| Change::Classify(classifier.clone()));
            drop(room);
            tenants.list.push(tenant.clone());
            Ok(tenant)
        })
    }

    /// The bytes of memory that a tenant needs with this program, these CPU ports, normal and urgent, and this many packets in each queue
    /// of the normal one. The program's machine code is not known before it is compiled, and comes on top.
    pub fn needs(&self, pipeline: &Pipeline, cpu_ports: [Option<u32>; 2], cpu_queue: usize) -> u64 {
        TenantSpec::needs(pipeline, cpu_ports, cpu_queue, self.frame_size, self.workers.count())
    }

    /// The same of a data plane that is there, with its machine code and what was written to it.
    pub fn needs_with(&self, vdp: &VirtualDataPlane, cpu_ports: [Option<u32>; 2], cpu_queue: usize) -> u64 {
        let workers = self.workers.count();
        let beside = tenant_state::footprint(cpu_ports, cpu_queue, self.frame_size, workers);
        beside.saturating_add(vdp.needs(workers)).saturating_add(vdp.control().account().held())
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
            self.workers.send(|_| Change::RemoveTenant(tenant.state().slot));
            drop(room);
            tenant.set_removed();
            self.ports.release(&tenant.reserved());
            tenants.leaving.push((tenant.clone(), self.workers.count()));
            Ok::<_, SwitchError>(tenant)
        })?;
        let gone =
            || self.with_tenants(|tenants| !tenants.leaving.iter().any(|(tenant, _)| Arc::ptr_eq(tenant, &removed)));
        for worker in self.workers.mailboxes() {
            if !worker.attention.wait_until(gone) {
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
