//! A device: a tenant of a switch with the program that controllers gave it, who may control it, and the messages it sends them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hopwright_dataplane::{Digest, Tenant, VirtualDataPlane};
use hopwright_ir::{ActionCall, MatchValue, TableEntry, TableId};
use tokio::sync::mpsc;
use tonic::Status;

use crate::arbitration::{Elections, role_name};
use crate::failure::{self, Failure, Result, denied, exhausted, invalid, precondition};
use crate::indirect::{Runs, carry_profiles, carry_target};
use crate::packet;
use crate::program::{EnginePolicy, Program};
use crate::proto::v1;
use crate::replication::{set_group, set_session};
use crate::role::Rights;
use crate::state::{State, Write};
use crate::turns::Turns;
use v1::set_forwarding_pipeline_config_request::Action;
use v1::stream_message_response::Update;
use v1::write_request::Atomicity;

/// How long the notification thread waits for a packet before it handles other work.
const TICK: Duration = Duration::from_millis(10);
/// How often idle timeouts are checked.
const IDLE_SWEEP: Duration = Duration::from_millis(250);
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
    /// Packets of controllers that the injection queue had no room for. The controller is told.
    pub packets_out_refused: AtomicU64,
}

/// A tenant of a switch under P4Runtime.
pub struct Device {
    id: u64,
    tenant: Arc<Tenant>,
    pub(crate) policy: EnginePolicy,
    /// Something else has the tenant's tables and CPU queue.
    read_only: bool,
    elections: Mutex<Elections>,
    pub(crate) state: Mutex<Option<State>>,
    /// Services of other protocols.
    pub(crate) listeners: Mutex<Vec<mpsc::Sender<Digest>>>,
    saved: Mutex<Option<Program>>,
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
            elections: Mutex::default(),
            state: Mutex::default(),
            listeners: Mutex::default(),
            saved: Mutex::default(),
            counts: Counts::default(),
            turns: Turns::default(),
        }
    }

    /// A device of a tenant that has a control plane already: clients may read, and nothing else. It takes neither packets nor digests.
    pub fn read_only(self) -> Device {
        Device { read_only: true, ..self }
    }

    /// Registers the program that the tenant runs already, so that controllers find it.
    pub fn with_program(self, program: Program) -> Device {
        let vdp = self.tenant.vdp();
        *lock(&self.state) = Some(State::new(program, vdp));
        self
    }

    /// Gives the tenant another program, with its state, as a controller would; controllers keep their streams and roles.
    ///
    /// # Errors
    /// If the tenant cannot run it.
    pub fn set_program(&self, program: Program, vdp: Arc<VirtualDataPlane>) -> Result<()> {
        let mut state = lock(&self.state);
        self.tenant.replace(vdp.clone()).map_err(|e| exhausted(e.to_string()))?;
        self.warn_of_headroom();
        *state = Some(State::new(program, vdp));
        Ok(())
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
        let writes: Vec<Write> = request.updates.into_iter().map(Write::Update).collect();
        let results = self.apply(&writes, &rights, atomicity, || Ok(())).map_err(Failure::status)?;
        if results.iter().any(|r| r.is_err()) { Err(failure::batch(&results, failure::ERROR_TYPE)) } else { Ok(()) }
    }

    /// Applies writes; returns what became of each. `last` is done when all of an atomic batch have been applied; if it fails they
    /// are undone.
    pub(crate) fn apply(
        &self,
        writes: &[Write],
        rights: &Rights,
        atomicity: Atomicity,
        last: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Result<()>>> {
        let mut state = lock(&self.state);
        let state = state.as_mut().ok_or_else(no_program)?;
        self.name_ports(state);
        let results = match atomicity {
            Atomicity::ContinueOnError => state.write_each(writes, rights),
            Atomicity::RollbackOnError => state.write_all(writes, rights, last)?,
            Atomicity::DataplaneAtomic => {
                let all = self.tenant.between_rounds(|| state.write_all(writes, rights, last));
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
        rights.check_read(asked)?;
        let mut state = lock(&self.state);
        let state = state.as_mut().ok_or_else(no_program)?;
        self.name_ports(state);
        let mut found = Vec::new();
        state.read(asked, &mut found)?;
        if rights.own.is_some() {
            found.retain(|e| rights.tells(e));
        }
        Ok(found)
    }

    /// Sets the program, or only checks whether it can be set.
    pub(crate) fn set_config(&self, request: &v1::SetForwardingPipelineConfigRequest) -> Result<()> {
        self.check_primary(&request.role, request.role_id, request.election_id.as_ref())?.check_push()?;
        let program = || {
            let config = request.config.as_ref().ok_or_else(|| invalid("no config"))?;
            Program::from_config(config)
        };
        match Action::try_from(request.action).unwrap_or(Action::Unspecified) {
            Action::Unspecified => Err(invalid("no action")),
            Action::Verify => {
                let program = program()?;
                program.data_plane(self.policy).map(drop)
            }
            Action::VerifyAndSave => {
                let program = program()?;
                program.data_plane(self.policy)?;
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

    pub(crate) fn commit(&self, program: Program, keep: bool) -> Result<()> {
        let vdp = program.data_plane(self.policy)?;
        let mut state = lock(&self.state);
        let mut next = State::new(program, vdp.clone());
        if keep && let Some(old) = state.as_ref() {
            let (kept, lost) = carry_over(old, &mut next);
            tracing::info!("device {}: {kept} entries kept, {lost} did not fit the new program", self.id);
        }
        self.tenant.replace(vdp).map_err(|e| exhausted(e.to_string()))?;
        tracing::info!("device {}: program `{}` is running", self.id, next.program.pipeline.name);
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
        let (schema, translated) = {
            let mut state = lock(&self.state);
            let state = state.as_mut().ok_or_else(no_program)?;
            self.name_ports(state);
            let some = !state.translations.is_empty();
            let translated = some.then(|| state.packet_in_plane(given)).transpose()?;
            (state.program.schema.clone(), translated)
        };
        let bytes = packet::packet_out(&schema, translated.as_ref().unwrap_or(given))?;
        let injected = self.tenant.injector().packet_out(port, &bytes);
        let count = if injected.is_ok() { &self.counts.packets_out } else { &self.counts.packets_out_refused };
        count.fetch_add(1, Ordering::Relaxed);
        injected.map_err(|e| exhausted(e.to_string()))
    }

    /// Acknowledges a list of digests.
    pub(crate) fn acknowledge(&self, ack: &v1::DigestListAck) -> Result<()> {
        lock(&self.state).as_mut().ok_or_else(no_program)?.digests.acknowledge(ack)
    }

    /// Starts to notify controllers of packets, digests and idle entries, as long as the device is used.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start_telling(self: &Arc<Device>) -> std::io::Result<()> {
        if self.read_only {
            return Ok(());
        }
        let device = Arc::downgrade(self);
        let name = format!("p4runtime-{}", self.id);
        std::thread::Builder::new().name(name).spawn(move || tell(&device)).map(drop)
    }

    fn tell_once(&self, swept: &mut Instant) {
        let cpu = self.tenant.cpu();
        if let Some(first) = cpu.receive(TICK) {
            let schema = lock(&self.state).as_ref().map(|s| s.program.schema.clone());
            let mut next = Some(first);
            // One burst; a flood of packets does not keep digests waiting.
            for _ in 0..DIGESTS_A_TURN {
                let Some(punted) = next.take().or_else(|| cpu.try_receive()) else { break };
                match schema.as_ref().and_then(|s| packet::packet_in(s, &punted)) {
                    Some(mut packet) => {
                        self.show_packet(&mut packet);
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
        let audience = (now.duration_since(*swept) >= IDLE_SWEEP).then(|| self.elections().audience());
        let (mut lists, mut idle) = (Vec::new(), Vec::new());
        if let Some(state) = lock(&self.state).as_mut() {
            for _ in 0..DIGESTS_A_TURN {
                let Some(digest) = self.tenant.next_digest() else { break };
                self.tell_listeners(&digest);
                lists.extend(state.digests.add(&digest, now));
            }
            lists.extend(state.digests.due(now));
            lists.iter_mut().for_each(|list| state.show_digests(list));
            if let Some(audience) = audience {
                *swept = now;
                self.name_ports(state);
                idle = state.idle_entries(now, |table| audience.hears_of(table));
            }
        }
        lists.into_iter().for_each(|list| self.send(Update::Digest(list)));
        if !idle.is_empty() {
            let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i64);
            self.send(Update::IdleTimeoutNotification(v1::IdleTimeoutNotification { table_entry: idle, timestamp }));
        }
    }

    /// Gives a controller's packet the controller's values.
    fn show_packet(&self, packet: &mut v1::PacketIn) {
        if let Some(state) = lock(&self.state).as_ref().filter(|s| !s.translations.is_empty()) {
            state.show_packet(packet);
        }
    }

    /// Tells a program that names ports which there are.
    fn name_ports(&self, state: &mut State) {
        if state.translations.names_ports() {
            state.translations.set_ports(self.tenant.ports().into_iter().map(|port| (port.name, port.number)));
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

/// Runs until the device is gone or the tenant stops.
fn tell(device: &Weak<Device>) {
    let mut swept = Instant::now();
    while let Some(device) = device.upgrade() {
        if device.tenant.stopping() {
            break;
        }
        device.tell_once(&mut swept);
    }
}

pub(crate) fn no_program() -> Failure {
    // The wording that clients expect.
    precondition("no forwarding pipeline config set for this device")
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Copies the cells of an entry that are in registers of the same name.
fn carry_cells(
    old: &VirtualDataPlane,
    (table, matches, priority): (TableId, &[MatchValue], i32),
    new: &VirtualDataPlane,
    to: TableId,
) {
    let index = |vdp: &VirtualDataPlane, table| vdp.control()[table].entry_index(matches, priority);
    let (Some(from), Some(into)) = (index(old, table), index(new, to)) else { return };
    for object in &old.pipeline()[table].entry_cells {
        let name = &old.pipeline()[*object].name;
        let there = new.pipeline()[to].entry_cells.iter().any(|object| new.pipeline()[*object].name == *name);
        if let Ok(value) = old.control().register(name).and_then(|r| r.read(from.into()))
            && there
        {
            let _ = new.control().register(name).and_then(|r| r.write(into.into(), value));
        }
    }
}

/// Copies what fits from an old program to a new one: entries, default actions, counters, registers, multicast groups,
/// clone sessions. Returns how many entries fit and how many did not.
fn carry_over(old: &State, new: &mut State) -> (usize, usize) {
    let (mut kept, mut lost) = (0usize, 0);
    new.translations.carry(&old.translations);
    carry_profiles(&old.vdp, &new.vdp);
    for (at, model) in old.vdp.pipeline().tables.iter().enumerate() {
        let at = hopwright_ir::TableId(at as u32);
        let entries = if model.const_entries { Vec::new() } else { old.vdp.control()[at].entries() };
        let Some(to) = new.vdp.pipeline().tables.iter().position(|t| t.name == model.name) else {
            lost += entries.len();
            continue;
        };
        let to = hopwright_ir::TableId(to as u32);
        let same_keys = {
            let (a, b) = (&model.keys, &new.vdp.pipeline()[to].keys);
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name && a.kind == b.kind)
        };
        // The program's own entries are in both.
        let initial = |e: &TableEntry| new.vdp.control()[to].get(&e.matches, e.priority).is_some();
        for entry in entries {
            let key = (at, entry.matches.clone(), entry.priority);
            let runs = match model.implementation {
                Some(_) => carry_target(&old.vdp, (at, &entry.matches, entry.priority), &new.vdp, to).map(Runs::Target),
                None => call_in(&old.vdp, &entry.action, &new.vdp, to).map(Runs::Action),
            };
            let is_new = !initial(&entry);
            let runs = runs.filter(|_| same_keys);
            let there = (to, entry.matches, entry.priority);
            let done = runs.is_some_and(|runs| new.put(there, runs, is_new).is_ok());
            if done {
                kept += 1;
                if let Ok(Some(rates)) = old.vdp.control()[at].direct_meter(&key.1, key.2) {
                    let _ = new.vdp.control()[to].set_direct_meter(&key.1, key.2, Some(rates));
                }
                carry_cells(&old.vdp, (at, &key.1, key.2), &new.vdp, to);
                if let Some(note) = old.notes.get(&key) {
                    new.notes.insert((to, key.1, key.2), note.clone());
                }
            } else {
                lost += 1;
            }
        }
        let default = old.vdp.control()[at].default_action();
        if default != model.default_action
            && let Some(call) = call_in(&old.vdp, &default, &new.vdp, to)
        {
            let _ = new.vdp.control()[to].set_default(Some(call));
        }
    }
    let of_entries = |at: usize| {
        let object = hopwright_ir::ExternId(at as u32);
        old.vdp.pipeline().tables.iter().any(|table| table.entry_cells.contains(&object))
    };
    for (at, object) in old.vdp.pipeline().externs.iter().enumerate() {
        if let Ok(counts) = old.vdp.control().counter(&object.name).map(|c| c.read_all()) {
            for (at, count) in counts.into_iter().enumerate().filter(|(_, c)| *c != Default::default()) {
                let _ = new.vdp.control().counter(&object.name).and_then(|c| c.write(at as u64, count));
            }
        }
        if let hopwright_ir::ExternKind::Register { size, .. } = object.kind
            && !of_entries(at)
        {
            for at in 0..size {
                let Ok(value) = old.vdp.control().register(&object.name).and_then(|r| r.read(at)) else { break };
                if value != num_bigint::BigUint::ZERO {
                    let _ = new.vdp.control().register(&object.name).and_then(|r| r.write(at, value));
                }
            }
        }
    }
    let plans = old.groups.values().map(set_group).chain(old.sessions.values().map(set_session));
    for plan in plans.collect::<Vec<_>>() {
        if let Err(failure) = plan.and_then(|plan| new.carry_out(plan, None)) {
            tracing::warn!("a group of copies does not fit the new program: {}", failure.message);
        }
    }
    new.count_all();
    let wrong = new.settle();
    (kept.saturating_sub(wrong), lost + wrong)
}

/// An action call of one program in a table of another.
pub(crate) fn call_in(
    from: &VirtualDataPlane,
    call: &ActionCall,
    to: &VirtualDataPlane,
    table: hopwright_ir::TableId,
) -> Option<ActionCall> {
    let name = &from.pipeline()[call.action].name;
    let listed = to.pipeline()[table].actions.iter().find(|a| to.pipeline()[a.action].name == *name)?;
    Some(ActionCall { action: listed.action, args: call.args.clone() })
}
