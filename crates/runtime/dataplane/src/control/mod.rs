//! The control interface of a virtual data plane.
//!
//! [`Control`] owns the state of a program: tables, extern objects, value sets, clone sessions and multicast groups.
//! Generated code accesses it by handles, the interpreter through [`LiveStore`](crate::executor::live_store). Every
//! method may be called from any thread at any time. None makes a worker wait.

pub(crate) mod destinations;
mod difference;
pub(crate) mod error;
mod objects;
mod spec;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hopwright_interp::{CloneSession, Digest, Replica, TrafficManager};
use hopwright_ir::{ActionCall, ExternId, MatchValue, Pipeline, TableEntry, TableId, ValueSetId, WrittenMatch};
use num_bigint::BigUint;

use crate::account::Account;
use crate::build_error::BuildError;
use crate::externs::{ExternTypes, KeyTable, NativeExtern};
use crate::offload::{Device, DeviceFault, Offload};
use crate::state::ExternObject;
use crate::state::cell::Cells;
use crate::state::digest::Digests;
use crate::state::value_set::ValueSet;
use crate::sync::published::Published;
use crate::sync::quiescence::Domain;
use crate::table::Table;

use destinations::Destinations;
pub use difference::Difference;
pub use error::ControlError;
pub use objects::{ActionProfile, CounterArray, MeterArray, RegisterArray, ValueSetMembers};
pub use spec::EntrySpec;

/// A program's state, and the control plane's access to it.
pub struct Control {
    pipeline: Arc<Pipeline>,
    domain: Arc<Domain>,
    tables: Vec<Table>,
    externs: Vec<ExternObject>,
    value_sets: Vec<ValueSet>,
    digests: Digests,
    traffic: Mutex<TrafficManager>,
    /// The workers' copy of `traffic`.
    destinations: Published<Destinations>,
    /// What runs the program, if that is a device.
    device: OnceLock<Arc<Device>>,
    account: Arc<Account>,
}

/// Identifies an extern object by number, by control-plane name, or by a suffix of the name that starts after a dot and
/// is unique.
#[derive(Clone, Copy, Debug)]
pub enum ObjectRef<'a> {
    /// By number.
    Id(ExternId),
    /// By name.
    Name(&'a str),
}

impl From<ExternId> for ObjectRef<'_> {
    fn from(id: ExternId) -> Self {
        ObjectRef::Id(id)
    }
}

impl<'a, T: AsRef<str> + ?Sized> From<&'a T> for ObjectRef<'a> {
    fn from(name: &'a T) -> Self {
        ObjectRef::Name(name.as_ref())
    }
}

impl Control {
    /// Creates the initial state of a program. `digests` is called after everything else has been built.
    pub(crate) fn new(
        pipeline: &Arc<Pipeline>,
        types: &ExternTypes,
        digests: impl FnOnce() -> Result<Digests, BuildError>,
    ) -> Result<Control, BuildError> {
        let (domain, account) = (Domain::new(), Arc::<Account>::default());
        let mut externs = Vec::new();
        for (at, instance) in pipeline.externs.iter().enumerate() {
            let object = ExternObject::new(pipeline, ExternId(at as u32), types, &domain)
                .map_err(|e| BuildError::Program(format!("`{}`: {e}", instance.name)))?;
            externs.push(object);
        }
        let tables = (0..pipeline.tables.len()).map(|i| {
            let id = TableId(i as u32);
            let profile = pipeline[id].implementation.and_then(|object| match &externs[object.index()] {
                ExternObject::Profile(profile) => Some(profile.clone()),
                _ => None,
            });
            let cells = pipeline[id].entry_cells.iter().filter_map(|object| externs[object.index()].entry_cells());
            Table::with_objects(pipeline, id, &domain, profile, cells.collect(), &account)
        });
        let tables = tables.collect::<Result<_, _>>()?;
        let value_sets = pipeline.value_sets.iter().map(|set| ValueSet::new(set, &domain)).collect();
        Ok(Control {
            pipeline: pipeline.clone(),
            tables,
            externs,
            value_sets,
            digests: digests()?,
            traffic: Mutex::default(),
            destinations: Published::new(Destinations::default(), &domain),
            device: OnceLock::new(),
            account,
            domain,
        })
    }

    /// The program's pipeline.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// The account of memory that the state is charged to.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Finds a table by control-plane name or unique suffix.
    pub fn table(&self, name: &str) -> Result<&Table, ControlError> {
        let id = self.pipeline.table_by_name(name).ok_or_else(|| ControlError::UnknownTable(name.into()))?;
        Ok(&self[id])
    }

    /// Resolves the names of an entry specification and brings its values into canonical form.
    pub fn resolve(&self, spec: &EntrySpec) -> Result<(TableId, TableEntry), ControlError> {
        let (table, matches) = self.resolve_key(&spec.table, &spec.matches)?;
        let action = self.resolve_action(table, &spec.action, &spec.args)?;
        Ok((table, TableEntry { matches, priority: spec.priority, action }))
    }

    fn resolve_key(&self, table: &str, specs: &[WrittenMatch]) -> Result<(TableId, Vec<MatchValue>), ControlError> {
        let id = self.table(table)?.id();
        let model = &self.pipeline[id];
        if model.keys.len() != specs.len() {
            let reason = hopwright_ir::entry::EntryError::KeyCount { expected: model.keys.len(), found: specs.len() };
            return Err(ControlError::Entry { table: model.name.clone(), reason });
        }
        let matches = model.keys.iter().zip(specs).map(|(key, spec)| {
            key.kind.value(spec.clone(), key.expr.ty.width()).map_err(|_| ControlError::Entry {
                table: model.name.clone(),
                reason: hopwright_ir::entry::EntryError::MatchKind { key: key.name.clone() },
            })
        });
        Ok((id, matches.collect::<Result<_, _>>()?))
    }

    /// Resolves an action and its arguments. Actions of the table take precedence over others of the same name.
    pub fn resolve_action(&self, table: TableId, name: &str, args: &[BigUint]) -> Result<ActionCall, ControlError> {
        let listed = || {
            let matches = |full: &str| full == name || full.strip_suffix(name).is_some_and(|p| p.ends_with('.'));
            let mut found = self.pipeline[table].actions.iter().filter(|a| matches(&self.pipeline[a.action].name));
            match (found.next(), found.next()) {
                (Some(a), None) => Some(a.action),
                _ => None,
            }
        };
        let action = listed()
            .or_else(|| self.pipeline.action_by_name(name))
            .ok_or_else(|| ControlError::UnknownAction(name.into()))?;
        Ok(ActionCall { action, args: args.to_vec() })
    }

    /// Adds an entry.
    pub fn insert(&self, spec: &EntrySpec) -> Result<(), ControlError> {
        let (table, entry) = self.resolve(spec)?;
        self[table].insert(entry)
    }

    /// Adds an entry, or changes its action if there is an entry with the same match and priority.
    pub fn put(&self, spec: &EntrySpec) -> Result<(), ControlError> {
        let (table, entry) = self.resolve(spec)?;
        let table = &self[table];
        match table.insert(entry.clone()) {
            Err(ControlError::Duplicate(_)) => table.modify(entry),
            other => other,
        }
    }

    /// Changes the action of the entry with this match and priority.
    pub fn modify(&self, spec: &EntrySpec) -> Result<(), ControlError> {
        let (table, entry) = self.resolve(spec)?;
        self[table].modify(entry)
    }

    /// Removes the entry with this match and priority; the specification's action is ignored.
    pub fn delete(&self, spec: &EntrySpec) -> Result<(), ControlError> {
        let (table, matches) = self.resolve_key(&spec.table, &spec.matches)?;
        self[table].delete(&matches, spec.priority)
    }

    /// Sets a table's default action.
    pub fn set_default(&self, table: &str, action: &str, args: &[BigUint]) -> Result<(), ControlError> {
        let table = self.table(table)?;
        let call = self.resolve_action(table.id(), action, args)?;
        table.set_default(Some(call))
    }

    /// Finds a counter.
    pub fn counter<'a>(&self, counter: impl Into<ObjectRef<'a>>) -> Result<CounterArray<'_>, ControlError> {
        match self.object(counter)? {
            (id, ExternObject::Counters(cells)) => Ok(CounterArray { name: self.name(id), cells }),
            (id, _) => Err(self.wrong(id, "a counter")),
        }
    }

    /// Finds a register.
    pub fn register<'a>(&self, register: impl Into<ObjectRef<'a>>) -> Result<RegisterArray<'_>, ControlError> {
        match self.object(register)? {
            (id, ExternObject::Registers { values, width, .. }) => {
                Ok(RegisterArray { name: self.name(id), width: *width, values })
            }
            (id, _) => Err(self.wrong(id, "a register")),
        }
    }

    /// Finds an indirect meter.
    pub fn meter<'a>(&self, meter: impl Into<ObjectRef<'a>>) -> Result<MeterArray<'_>, ControlError> {
        match self.object(meter)? {
            (id, ExternObject::Meters(meters)) => Ok(MeterArray { name: self.name(id), meters }),
            (id, _) => Err(self.wrong(id, "a meter")),
        }
    }

    /// Adds bytes to the length of each packet that counters and meters of the program see: those of a frame that are not in packets,
    /// such as the four of its check sequence. What has been counted so far is read as if it had had them, too.
    pub fn count_frame_bytes(&self, bytes: u8) {
        self.tables.iter().for_each(|table| table.frame.set(bytes));
        for object in &self.externs {
            match object {
                ExternObject::Counters(counters) => counters.frame.set(bytes),
                ExternObject::Meters(meters) => meters.set_frame(bytes),
                _ => {}
            }
        }
    }

    /// What a packet that hit an entry of a table costs its direct meter.
    pub(crate) fn metered(&self, table: TableId, bytes: u64) -> u64 {
        let meter = self.pipeline[table].direct_meter.map(|id| &self.externs[id.index()]);
        match meter {
            Some(ExternObject::Meters(meters)) => meters.cost(bytes),
            _ => bytes,
        }
    }

    /// Finds an action profile or selector.
    pub fn profile<'a>(&self, profile: impl Into<ObjectRef<'a>>) -> Result<ActionProfile<'_>, ControlError> {
        match self.object(profile)? {
            (id, ExternObject::Profile(profile)) => {
                let (name, pipeline, account) = (self.name(id), &*self.pipeline, &*self.account);
                Ok(ActionProfile { name, profile, tables: &self.tables, id, pipeline, account })
            }
            (id, _) => Err(self.wrong(id, "an action profile or selector")),
        }
    }

    /// Finds a parser value set.
    pub fn value_set(&self, set: ValueSetId) -> Result<ValueSetMembers<'_>, ControlError> {
        match (self.pipeline.value_sets.get(set.index()), self.value_sets.get(set.index())) {
            (Some(model), Some(set)) => Ok(ValueSetMembers { model, set }),
            _ => Err(ControlError::UnknownValueSet(format!("number {}", set.0))),
        }
    }

    /// Returns the keys of an `AesCmac` or `Aes128` object, through which they are set.
    pub fn key_table<'a>(&self, object: impl Into<ObjectRef<'a>>) -> Result<Arc<KeyTable>, ControlError> {
        let (id, object) = self.object(object)?;
        match object {
            ExternObject::Named(named) => named.key_table().cloned().ok_or_else(|| self.wrong(id, "a key holder")),
            _ => Err(self.wrong(id, "a key holder")),
        }
    }

    /// Finds an object of an extern type that is implemented by a [`NativeExtern`].
    pub fn named_extern<'a>(&self, object: impl Into<ObjectRef<'a>>) -> Result<Arc<dyn NativeExtern>, ControlError> {
        let (id, object) = self.object(object)?;
        match object {
            ExternObject::Named(named) => Ok(named.clone()),
            _ => Err(self.wrong(id, "an extern with methods of its own")),
        }
    }

    /// Sets a multicast group (numbered from 1); `None` removes it.
    ///
    /// # Errors
    /// A device that runs the program has no room for it, or the tenant may not have the memory.
    pub fn set_multicast_group(&self, group: u16, replicas: Option<Vec<Replica>>) -> Result<(), ControlError> {
        self.change_traffic(|traffic, device| {
            let name = || format!("multicast group {group}");
            let bytes = |replicas: Option<&Vec<Replica>>| replicas.map_or(0, |replicas| group_bytes(replicas.len()));
            let (before, after) = (bytes(traffic.groups.get(&group)), bytes(replicas.as_ref()));
            let wrong = |reason| ControlError::Memory { name: name(), reason };
            self.account.exchange(before, after).map_err(wrong)?;
            if let Some(device) = device {
                let set = device.set_multicast_group(group, replicas.as_deref().unwrap_or_default());
                set.map_err(|reason| {
                    // Undoing is not refused.
                    let _ = self.account.undo(|| self.account.exchange(after, before));
                    ControlError::Device { name: name(), reason }
                })?;
            }
            match replicas {
                Some(replicas) => traffic.groups.insert(group, replicas),
                None => traffic.groups.remove(&group),
            };
            Ok(())
        })
    }

    /// Sets a clone session (0 to 32,767); `None` removes it.
    ///
    /// # Errors
    /// A device that runs the program has no room for it.
    pub fn set_clone_session(&self, session: u32, to: Option<CloneSession>) -> Result<(), ControlError> {
        self.change_traffic(|traffic, device| {
            if let Some(device) = device {
                let set = device.set_clone_session(session, to);
                set.map_err(|reason| ControlError::Device { name: format!("clone session {session}"), reason })?;
            }
            match to {
                Some(to) => traffic.sessions.insert(session, to),
                None => traffic.sessions.remove(&session),
            };
            Ok(())
        })
    }

    /// Returns a multicast group.
    pub fn multicast_group(&self, group: u16) -> Option<Vec<Replica>> {
        self.traffic().groups.get(&group).cloned()
    }

    /// Returns all multicast groups by number.
    pub fn multicast_groups(&self) -> BTreeMap<u16, Vec<Replica>> {
        self.traffic().groups.clone()
    }

    /// Returns all clone sessions by number.
    pub fn clone_sessions(&self) -> BTreeMap<u32, CloneSession> {
        self.traffic().sessions.clone()
    }

    /// Returns a clone session.
    pub fn clone_session(&self, session: u32) -> Option<CloneSession> {
        self.traffic().sessions.get(&session).copied()
    }

    /// Whether there are multicast groups or clone sessions.
    pub(crate) fn copies(&self) -> bool {
        let traffic = self.traffic();
        !(traffic.groups.is_empty() && traffic.sessions.is_empty())
    }

    /// Removes and returns the oldest digest from the queue. Digests that arrive while the queue is full are lost, and
    /// counted.
    pub fn next_digest(&self) -> Option<Digest> {
        self.digests.next()
    }

    fn change_traffic(
        &self,
        change: impl FnOnce(&mut TrafficManager, Option<&mut (dyn Offload + 'static)>) -> Result<(), ControlError>,
    ) -> Result<(), ControlError> {
        let mut traffic = self.traffic();
        let mut device = self.device.get().map(|device| device.lock());
        change(&mut traffic, device.as_mut().map(|device| &mut ***device))?;
        self.destinations.set(Destinations::of(&traffic));
        Ok(())
    }

    /// Locks the clone sessions and multicast groups.
    pub(crate) fn traffic(&self) -> MutexGuard<'_, TrafficManager> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn destinations(&self) -> &Published<Destinations> {
        &self.destinations
    }

    pub(crate) fn digests(&self) -> &Digests {
        &self.digests
    }

    /// Lets a device have the state from now on. Nothing has run yet.
    ///
    /// # Errors
    /// It does not take the entries that the program starts with.
    pub(crate) fn attach(&self, device: &Arc<Device>) -> Result<(), DeviceFault> {
        self.tables.iter().try_for_each(|table| table.attach(device))?;
        for (at, object) in self.externs.iter().enumerate() {
            let id = ExternId(at as u32);
            match object {
                ExternObject::Counters(counters) => counters.device.attach(device, id),
                ExternObject::Registers { values, .. } => values.device.attach(device, id),
                ExternObject::Named(object) => {
                    object.key_table().map_or(Ok(()), |keys| keys.attach(device, id))?;
                }
                ExternObject::Meters(meters) => meters.device.attach(device, id),
                ExternObject::Profile(_) | ExternObject::Stateless => {}
            }
        }
        for (at, set) in self.value_sets.iter().enumerate() {
            set.device.attach(device, ValueSetId(at as u32));
        }
        let _ = self.device.set(device.clone());
        Ok(())
    }

    pub(crate) fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    pub(crate) fn externs(&self) -> &[ExternObject] {
        &self.externs
    }

    pub(crate) fn value_sets(&self) -> &[ValueSet] {
        &self.value_sets
    }

    /// Returns a worker's own copies of the counters, with the index of the extern object each belongs to.
    pub(crate) fn join_counters(&self) -> Vec<(usize, Arc<Cells>)> {
        let counters = self.externs.iter().enumerate().filter_map(|(i, object)| match object {
            ExternObject::Counters(counters) => Some((i, counters.join())),
            _ => None,
        });
        counters.collect()
    }

    fn object<'a>(&self, object: impl Into<ObjectRef<'a>>) -> Result<(ExternId, &ExternObject), ControlError> {
        let unknown = |name: String| ControlError::UnknownExtern(name);
        match object.into() {
            ObjectRef::Id(id) => {
                let object = self.externs.get(id.index());
                object.map(|object| (id, object)).ok_or_else(|| unknown(format!("number {}", id.0)))
            }
            ObjectRef::Name(name) => {
                let id = self.pipeline.extern_by_name(name).ok_or_else(|| unknown(name.into()))?;
                Ok((id, &self.externs[id.index()]))
            }
        }
    }

    fn name(&self, id: ExternId) -> &str {
        &self.pipeline[id].name
    }

    fn wrong(&self, id: ExternId, wanted: &'static str) -> ControlError {
        let instance = &self.pipeline[id];
        ControlError::WrongExtern { name: instance.name.clone(), is: instance.kind.description(), wanted }
    }
}

/// What a multicast group of this many copies takes, with what workers have of it.
fn group_bytes(copies: usize) -> u64 {
    256 + 4 * (size_of::<Replica>() * copies) as u64
}

/// Panics if the pipeline has no table with this index.
impl std::ops::Index<TableId> for Control {
    type Output = Table;

    fn index(&self, id: TableId) -> &Table {
        &self.tables[id.index()]
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("program", &self.pipeline.name).finish_non_exhaustive()
    }
}
