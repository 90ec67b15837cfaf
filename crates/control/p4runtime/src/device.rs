//! A device: a tenant of a switch with the program that controllers gave it, who may control it, and the messages it sends them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hopwright_control::{CPU_SESSION, Carried, IdleListener, Model, Schema, Translate, Update as ModelUpdate};
use hopwright_dataplane::{ControlError, Digest, MemoryExceeded, Tenant, VirtualDataPlane};
use tokio::sync::mpsc;
use tonic::Status;

use crate::arbitration::{Elections, role_name};
use crate::codec::{self, Encode};
use crate::failure::{self, Failure, Result, denied, exhausted, invalid, precondition};
use crate::program::{EnginePolicy, Program};
use crate::proto::v1;
use crate::read;
use crate::role::{Rights, p4_id};
use crate::state::State;
use crate::turns::Turns;
use v1::set_forwarding_pipeline_config_request::Action;
use v1::stream_message_response::Update;
use v1::write_request::Atomicity;

/// How long the notification thread waits for a packet before it looks for digests, of a program that has some.
const TICK: Duration = Duration::from_millis(10);
/// How often idle timeouts are checked.
const IDLE_SWEEP: Duration = Duration::from_millis(250);
/// Bytes of a frame check sequence.
const FCS: u8 = 4;
/// The most digests that are handled before packets are handled again.
const DIGESTS_A_TURN: usize = 256;

/// A device's counters.
#[derive(Debug, Default)]
pub struct Counts {
    /// Updates applied.
    pub updates: AtomicU64,
    /// Updates that failed.
    pub failed: AtomicU64,
    /// Packets sent to controllers.
    pub packets_in: AtomicU64,
    /// Lost messages to controllers: without a primary, or to a controller that does not read.
    pub lost: AtomicU64,
    /// Packets received from controllers.
    pub packets_out: AtomicU64,
    /// Packets of controllers that the injection queue had no room for. The controller gets an error.
    pub packets_out_refused: AtomicU64,
}

/// What prepares a data plane before packets reach it.
type Prepare = Box<dyn Fn(&VirtualDataPlane) -> std::result::Result<(), ControlError> + Send + Sync>;

/// A tenant of a switch under P4Runtime.
pub struct Device {
    id: u64,
    tenant: Arc<Tenant>,
    pub(crate) policy: EnginePolicy,
    /// Something else has the tenant's tables and CPU queue.
    read_only: bool,
    /// Whether bytes of counters and meters are those of packets with their frame check sequence; as on the program's device if it is not said.
    count_fcs: Option<bool>,
    prepare: Mutex<Option<Prepare>>,
    elections: Mutex<Elections>,
    pub(crate) state: Mutex<Option<State>>,
    /// Services of other protocols.
    pub(crate) listeners: Mutex<Vec<mpsc::Sender<Digest>>>,
    saved: Mutex<Option<Program>>,
    /// Held while a program is compiled and has a data plane beside the one that runs: a tenant has two at most.
    pub(crate) making: Mutex<()>,
    counts: Counts,
    turns: Turns,
}

impl Device {
    /// A device for a tenant of a switch, which need not run yet. The policy selects the engine of programs that controllers push.
    pub fn new(id: u64, tenant: Arc<Tenant>, policy: EnginePolicy) -> Device {
        Device {
            id,
            tenant,
            policy,
            read_only: false,
            count_fcs: None,
            prepare: Mutex::default(),
            elections: Mutex::default(),
            state: Mutex::default(),
            listeners: Mutex::default(),
            saved: Mutex::default(),
            making: Mutex::default(),
            counts: Counts::default(),
            turns: Turns::default(),
        }
    }

    /// A device of a tenant that has a control plane already: clients may read, and nothing else. It takes neither packets nor digests.
    pub fn read_only(self) -> Device {
        Device { read_only: true, ..self }
    }

    /// A device whose counters and meters see packets with their frame check sequence, of four bytes, or without. Those of Tofino
    /// programs do if it is not said.
    pub fn count_fcs(self, count: bool) -> Device {
        Device { count_fcs: Some(count), ..self }
    }

    /// Registers the program that the tenant runs already, so that controllers find it.
    pub fn with_program(self, program: Program) -> Device {
        let vdp = self.tenant.vdp();
        self.count_frames(&program, &vdp);
        *lock(&self.state) = Some(self.state_of(program, vdp));
        self
    }

    /// Prepares the tenant's data plane, and from now on each one of a program that it is given, before packets reach it.
    ///
    /// # Errors
    /// If the data plane that the tenant has cannot be prepared.
    pub fn prepare(
        &self,
        prepare: impl Fn(&VirtualDataPlane) -> std::result::Result<(), ControlError> + Send + Sync + 'static,
    ) -> Result<()> {
        // No program is pushed meanwhile.
        let _state = lock(&self.state);
        prepare(&self.tenant.vdp())?;
        *lock(&self.prepare) = Some(Box::new(prepare));
        Ok(())
    }

    fn prepared(&self, vdp: &VirtualDataPlane) -> Result<()> {
        if let Some(prepare) = &*lock(&self.prepare) {
            prepare(vdp)?;
        }
        Ok(())
    }

    /// Gives the tenant another program, with its state, as a controller would; controllers keep their streams and roles.
    ///
    /// # Errors
    /// If the tenant cannot run it.
    pub fn set_program(&self, program: Program, vdp: Arc<VirtualDataPlane>) -> Result<()> {
        let mut state = lock(&self.state);
        self.prepared(&vdp)?;
        self.tenant.replace(vdp.clone()).map_err(|e| exhausted(e.to_string()))?;
        self.warn_of_headroom();
        self.count_frames(&program, &vdp);
        *state = Some(self.state_of(program, vdp));
        Ok(())
    }

    /// The initial state of a program, whose copies to the CPU go to the CPU's port.
    fn state_of(&self, program: Program, vdp: Arc<VirtualDataPlane>) -> State {
        let cpu = self.tenant.cpu_port().filter(|_| program.copies_to_cpu() && !self.read_only);
        let state = State::new(program, vdp);
        if let Some(port) = cpu
            && let Err(error) = state.model.lock().lead_copies(CPU_SESSION, port as u16)
        {
            tracing::warn!("device {}: no copies to the CPU: {error}", self.id);
        }
        state
    }

    fn count_frames(&self, program: &Program, vdp: &VirtualDataPlane) {
        let counted = self.count_fcs.unwrap_or(program.is_for_tofino());
        vdp.control().count_frame_bytes(if counted { FCS } else { 0 });
    }

    /// The device id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The counters.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The tenant.
    pub fn tenant(&self) -> &Arc<Tenant> {
        &self.tenant
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(crate) fn elections(&self) -> MutexGuard<'_, Elections> {
        lock(&self.elections)
    }

    fn check_primary(&self, role: &str, role_id: u64, election_id: Option<&v1::Uint128>) -> Result<Rights> {
        self.check_writable()?;
        let (elections, role) = (self.elections(), role_name(role, role_id));
        elections.check(&role, election_id)?;
        Ok(elections.rights(&role))
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.read_only {
            Err(denied("an agent of the switch controls this device: it can only be read"))
        } else {
            Ok(())
        }
    }

    /// Applies a batch of updates.
    pub(crate) fn write(&self, request: v1::WriteRequest) -> std::result::Result<(), Status> {
        let rights = self.check_primary(&request.role, request.role_id, request.election_id.as_ref());
        let rights = rights.map_err(Failure::status)?;
        let atomicity = Atomicity::try_from(request.atomicity);
        let atomicity = atomicity.map_err(|_| invalid("no such atomicity").status())?;
        let results = self.apply_messages(&rights, &request.updates, atomicity).map_err(Failure::status)?;
        if results.iter().any(|r| r.is_err()) {
            Err(failure::batch(&results, "updates", failure::ERROR_TYPE))
        } else {
            Ok(())
        }
    }

    /// Applies P4Runtime's updates with these rights; returns what became of each.
    pub(crate) fn apply_messages(
        &self,
        rights: &Rights,
        updates: &[v1::Update],
        atomicity: Atomicity,
    ) -> Result<Vec<Result<()>>> {
        let decode = |schema: &Schema, translate: &mut Translate<'_>, message: &v1::Update| {
            rights.check_write(p4_id(codec::entity(message)?))?;
            codec::update(schema, translate, message)
        };
        self.apply(updates, atomicity, decode, || Ok(()))
    }

    /// Applies writes; returns what became of each. `last` is done when all of an atomic batch have been applied; if it fails they
    /// are undone.
    pub(crate) fn apply<W>(
        &self,
        writes: &[W],
        atomicity: Atomicity,
        decode: impl Fn(&Schema, &mut Translate<'_>, &W) -> Result<ModelUpdate>,
        last: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Result<()>>> {
        let state = lock(&self.state);
        let model = &mut *state.as_ref().ok_or_else(no_program)?.model.lock();
        self.name_ports(model);
        let results = match atomicity {
            Atomicity::ContinueOnError => model.write_each(writes, decode),
            Atomicity::RollbackOnError => model.write_all(writes, decode, last)?,
            Atomicity::DataplaneAtomic => {
                let all = self.tenant.between_rounds(|| model.write_all(writes, decode, last));
                all.map_err(|e| exhausted(e.to_string()))??
            }
        };
        let failed = results.iter().filter(|r| r.is_err()).count();
        self.counts.failed.fetch_add(failed as u64, Ordering::Relaxed);
        self.counts.updates.fetch_add((results.len() - failed) as u64, Ordering::Relaxed);
        Ok(results)
    }

    /// Evaluates one entity of a role's read.
    pub(crate) fn read(&self, role: &str, entity: &v1::Entity) -> Result<Vec<v1::entity::Entity>> {
        self.read_as(role, entity.entity.as_ref().ok_or_else(|| invalid("an entity is empty"))?)
    }

    /// Evaluates a read of a role.
    pub(crate) fn read_as(&self, role: &str, asked: &v1::entity::Entity) -> Result<Vec<v1::entity::Entity>> {
        let rights = self.elections().rights(role);
        rights.check_read(p4_id(asked))?;
        let state = lock(&self.state);
        let mut model = state.as_ref().ok_or_else(no_program)?.model.lock();
        self.name_ports(&mut model);
        let mut found = Vec::new();
        read::read(&model, asked, &mut found)?;
        if rights.own.is_some() {
            found.retain(|e| rights.shows(e));
        }
        Ok(found)
    }

    /// Sets the program, or only checks whether it can be set.
    pub(crate) fn set_config(&self, request: &v1::SetForwardingPipelineConfigRequest) -> Result<()> {
        self.check_primary(&request.role, request.role_id, request.election_id.as_ref())?.check_push()?;
        let _making = lock(&self.making);
        let program = || {
            let config = request.config.as_ref().ok_or_else(|| invalid("no config"))?;
            Program::from_config(config)
        };
        match Action::try_from(request.action).unwrap_or(Action::Unspecified) {
            Action::Unspecified => Err(invalid("no action")),
            Action::Verify => self.data_plane(&program()?).map(drop),
            Action::VerifyAndSave => {
                let program = program()?;
                self.data_plane(&program)?;
                *lock(&self.saved) = Some(program);
                Ok(())
            }
            Action::VerifyAndCommit => self.commit(program()?, false),
            Action::Commit => {
                if request.config.is_some() {
                    return Err(invalid("COMMIT takes the config that was saved, not another"));
                }
                let saved = lock(&self.saved).take();
                self.commit(saved.ok_or_else(|| precondition("no config was saved"))?, false)
            }
            Action::ReconcileAndCommit => self.commit(program()?, true),
        }
    }

    /// A data plane of a program, if the tenant may have the memory that it needs with its config.
    pub(crate) fn data_plane(&self, program: &Program) -> Result<Arc<VirtualDataPlane>> {
        // Before anything is allocated; the machine code follows.
        let refused = |exceeded: MemoryExceeded| exhausted(exceeded.to_string());
        self.tenant.check_memory(&program.pipeline).map_err(refused)?;
        let vdp = program.data_plane(self.policy)?;
        // It has no limit before it is admitted.
        vdp.control().account().charge(program.config_bytes()).map_err(refused)?;
        self.tenant.admit(&vdp).map_err(refused)?;
        Ok(vdp)
    }

    pub(crate) fn commit(&self, program: Program, keep: bool) -> Result<()> {
        let vdp = self.data_plane(&program)?;
        self.count_frames(&program, &vdp);
        let mut state = lock(&self.state);
        self.prepared(&vdp)?;
        let next = State { pushed: true, ..self.state_of(program, vdp.clone()) };
        if keep && let Some(old) = state.as_ref() {
            let Carried { kept, lost } = next.model.lock().carry_over(&old.model.lock());
            tracing::info!("device {}: {kept} entries kept, {lost} did not fit the new program", self.id);
        }
        let removed = state.as_ref().map_or(0, |old| old.model.lock().added_entries());
        self.tenant.replace(vdp).map_err(|e| exhausted(e.to_string()))?;
        tracing::info!("device {}: program `{}` is running", self.id, next.program.pipeline.name);
        if !keep && removed > 0 {
            tracing::info!(
                "device {}: {removed} entries of the program before are gone: RECONCILE_AND_COMMIT keeps them",
                self.id
            );
        }
        self.warn_of_headroom();
        *state = Some(next);
        Ok(())
    }

    fn warn_of_headroom(&self) {
        if let Some(warning) = self.tenant.headroom_warning() {
            tracing::warn!("device {}: {warning}", self.id);
        }
    }

    /// The config that was set.
    pub(crate) fn config(&self) -> Result<v1::ForwardingPipelineConfig> {
        let state = lock(&self.state);
        Ok(state.as_ref().ok_or_else(no_program)?.program.config.clone())
    }

    /// Sends a controller's packet.
    pub(crate) fn packet_out(&self, given: &v1::PacketOut) -> Result<()> {
        self.check_writable()?;
        let port = self.tenant.cpu_port().ok_or_else(|| precondition("the tenant has no CPU port"))?;
        let bytes = {
            let state = lock(&self.state);
            let State { program, model, .. } = state.as_ref().ok_or_else(no_program)?;
            let mut model = model.lock();
            self.name_ports(&mut model);
            model.translate(|_, translate| codec::packet_out(&program.schema, translate, given))?
        };
        let injected = self.tenant.injector().packet_out(port, &bytes);
        let count = if injected.is_ok() { &self.counts.packets_out } else { &self.counts.packets_out_refused };
        count.fetch_add(1, Ordering::Relaxed);
        injected.map_err(|e| exhausted(e.to_string()))
    }

    /// Acknowledges a list of digests.
    pub(crate) fn acknowledge(&self, ack: &v1::DigestListAck) -> Result<()> {
        let state = lock(&self.state);
        let mut model = state.as_ref().ok_or_else(no_program)?.model.lock();
        Ok(model.digests_mut().acknowledge(ack.digest_id, ack.list_id)?)
    }

    /// Starts to notify controllers of packets, digests and idle entries, as long as the device is used.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start_notifying(self: &Arc<Device>) -> std::io::Result<()> {
        if self.read_only {
            return Ok(());
        }
        let device = Arc::downgrade(self);
        let name = format!("p4runtime-{}", self.id);
        std::thread::Builder::new().name(name).spawn(move || notify(&device)).map(drop)
    }

    fn notify_once(&self, swept: &mut Instant) {
        let (cpu, digests) = (self.tenant.cpu(), self.has_digests());
        if let Some(first) = cpu.receive(if digests { TICK } else { IDLE_SWEEP }) {
            let mut next = Some(first);
            // One burst; a flood of packets does not keep digests waiting.
            for _ in 0..DIGESTS_A_TURN {
                let Some(punted) = next.take().or_else(|| cpu.try_receive()) else { break };
                let shown = lock(&self.state)
                    .as_ref()
                    .and_then(|state| Encode::of(&state.model.lock()).packet_in(&state.program.schema, &punted));
                match shown {
                    Some(packet) => {
                        self.counts.packets_in.fetch_add(1, Ordering::Relaxed);
                        self.send(Update::Packet(packet));
                    }
                    None => {
                        self.counts.lost.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
        let now = Instant::now();
        let listeners = (now.duration_since(*swept) >= IDLE_SWEEP).then(|| self.elections().listeners());
        let (mut lists, mut idle) = (Vec::new(), Vec::new());
        if let Some(State { program, model, .. }) = lock(&self.state).as_ref() {
            let model = &mut *model.lock();
            let mut full = Vec::new();
            for _ in 0..DIGESTS_A_TURN {
                let Some(digest) = self.tenant.next_digest() else { break };
                self.forward_digest(&digest);
                full.extend(model.digests_mut().add(&digest, now));
            }
            full.extend(model.digests_mut().due(now));
            lists = full.iter().map(|list| Encode::of(model).digests(list, &program.schema.types)).collect();
            if let Some(listeners) = listeners {
                *swept = now;
                self.name_ports(model);
                let found = model.idle_entries(IdleListener::Repeated, now, |table| listeners.has_listener(table));
                idle = found.iter().filter_map(|entry| Encode::of(model).idle(entry)).collect();
            }
        }
        lists.into_iter().for_each(|list| self.send(Update::Digest(list)));
        if !idle.is_empty() {
            let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i64);
            self.send(Update::IdleTimeoutNotification(v1::IdleTimeoutNotification { table_entry: idle, timestamp }));
        }
    }

    fn has_digests(&self) -> bool {
        lock(&self.state).as_ref().is_some_and(|state| state.model.lock().digests().are_there())
    }

    /// Gives a program whose ports are translated the names of the ports, if it names them, and the CPU's port.
    pub(crate) fn name_ports(&self, model: &mut Model) {
        if model.translations().names_ports() {
            model.set_ports(self.tenant.ports().into_iter().map(|port| (port.name, port.number)));
        }
        if model.translations().has_ports() {
            model.set_cpu_port(self.tenant.cpu_port());
        }
    }

    fn send(&self, update: Update) {
        let elections = self.elections();
        let lost = if elections.has_primary() { elections.send_to_primaries(&update) } else { 1 };
        self.counts.lost.fetch_add(lost as u64, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("id", &self.id).field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

/// Runs until the device is gone. A tenant that has stopped may go on, if the process that was to take over does not.
fn notify(device: &Weak<Device>) {
    let mut swept = Instant::now();
    while let Some(device) = device.upgrade() {
        device.notify_once(&mut swept);
    }
}

pub(crate) fn no_program() -> Failure {
    // The wording that clients expect.
    precondition("no forwarding pipeline config set for this device")
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
