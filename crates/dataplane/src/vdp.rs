//! A virtual data plane: a program with its tables, externs and the control interface to them.
//!
//! Does not live here: running packets through it ([`crate::executor`]), ports and workers ([`crate::worker::switch`]).

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopwright_abi::ExternHandle;
use hopwright_ir::interp::{
    CloneSession, Digest, ExternModel, ExternRegistry, Interp, LiveState, Replica, TrafficManager,
};
use hopwright_ir::{
    ActionCall, ExternId, ExternKind, MatchKind, MatchValue, Pipeline, Span, TableEntry, TableId, bits,
};
use hopwright_jit::{Ahead, CompiledPipeline, Unsupported};
use num_bigint::BigUint;

use crate::control::{ControlError, EntrySpec, MatchSpec};
use crate::executor::machine::{MachineProgram, Objects};
use crate::executor::traffic::Destinations;
use crate::externs::{ExternTypes, KeyTable, Model, NativeExtern};
use crate::state::cell::{Cells, Count, Counters, Registers};
use crate::state::digest::Digests;
use crate::state::meter::Meters;
use crate::state::value_set::ValueSet;
use crate::sync::published::Published;
use crate::sync::quiescence::Domain;
use crate::table::{self, Profiles, Table};
use crate::trace::respecialise::Traces;
use hopwright_abi::{from_limbs, limbs_of, push_limbs};

/// Which executor runs the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EngineKind {
    /// Machine code.
    #[default]
    Jit,
    /// The reference interpreter: slow, complete.
    Interp,
}

/// Why a program cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Part of the program that this data plane or its engine does not support, or that makes no sense.
    #[error("{0}")]
    Program(String),
    /// A place in the program that the engine cannot run.
    #[error("{message}")]
    Unsupported {
        /// Where.
        span: Span,
        /// What.
        message: String,
    },
}

/// A program with its state. Shared between the worker that runs it and whoever controls it; every method may be
/// called from any thread at any time and never makes the worker wait (the interpreter engine excepted).
pub struct VirtualDataPlane {
    pipeline: Arc<Pipeline>,
    domain: Arc<Domain>,
    // Dropped first: it points into the tables and externs.
    engine: Engine,
    tables: Vec<Table>,
    externs: Vec<ExternObject>,
    value_sets: Vec<ValueSet>,
    digests: Box<Digests>,
    traffic: Mutex<TrafficManager>,
    destinations: Published<Destinations>,
    traces: Traces,
}

pub(crate) enum Engine {
    Jit(Box<MachineProgram>),
    Interp(Box<Mutex<Interp>>),
}

pub(crate) enum ExternObject {
    Counters(Counters),
    Registers {
        values: Registers,
        width: u32,
    },
    Named(Arc<dyn NativeExtern>),
    /// Indirect ones, or what direct ones have in common.
    Meters(Box<Meters>),
    Profile(Arc<Profiles>),
    /// Has no state of its own here: direct counters are in table entries.
    Stateless,
}

fn compile(pipeline: &Pipeline) -> Result<CompiledPipeline, Unsupported> {
    hopwright_jit::compile(pipeline, &hopwright_jit::Options::default())
}

impl VirtualDataPlane {
    /// A program as it starts, with the extern types of `crypto.p4`.
    pub fn new(pipeline: Arc<Pipeline>, engine: EngineKind) -> Result<Arc<VirtualDataPlane>, BuildError> {
        VirtualDataPlane::with_externs(pipeline, engine, &ExternTypes::standard())
    }

    /// The same with machine code that was made ahead, if it suits this machine. Otherwise the program is compiled.
    ///
    /// # Safety
    /// That of [`hopwright_jit::load`]: the code was made from this very pipeline by this version of the compiler.
    pub unsafe fn with_code(pipeline: Arc<Pipeline>, code: Ahead) -> Result<Arc<VirtualDataPlane>, BuildError> {
        let compile = |pipeline: &Pipeline| {
            // SAFETY: the caller's promise.
            match unsafe { hopwright_jit::load(pipeline, code) }? {
                Some(loaded) => Ok(loaded),
                None => compile(pipeline),
            }
        };
        VirtualDataPlane::build(pipeline, EngineKind::Jit, &ExternTypes::standard(), compile)
    }

    /// A program as it starts.
    pub fn with_externs(
        pipeline: Arc<Pipeline>,
        engine: EngineKind,
        types: &ExternTypes,
    ) -> Result<Arc<VirtualDataPlane>, BuildError> {
        VirtualDataPlane::build(pipeline, engine, types, compile)
    }

    fn build(
        pipeline: Arc<Pipeline>,
        engine: EngineKind,
        types: &ExternTypes,
        compile: impl FnOnce(&Pipeline) -> Result<CompiledPipeline, Unsupported>,
    ) -> Result<Arc<VirtualDataPlane>, BuildError> {
        let domain = Domain::new();
        let mut externs = Vec::new();
        for (at, instance) in pipeline.externs.iter().enumerate() {
            let object = ExternObject::new(&pipeline, ExternId(at as u32), types, &domain)
                .map_err(|e| BuildError::Program(format!("`{}`: {e}", instance.name)))?;
            externs.push(object);
        }
        let tables: Vec<Table> = (0..pipeline.tables.len())
            .map(|i| {
                let id = TableId(i as u32);
                let profile = pipeline[id].implementation.and_then(|object| match &externs[object.index()] {
                    ExternObject::Profile(profile) => Some(profile.clone()),
                    _ => None,
                });
                Table::with_profile(&pipeline, id, &domain, profile).map_err(BuildError::Program)
            })
            .collect::<Result<_, _>>()?;
        let value_sets: Vec<ValueSet> = pipeline.value_sets.iter().map(|set| ValueSet::new(set, &domain)).collect();
        let (engine, digests) = match engine {
            EngineKind::Interp => {
                let interp = Interp::with_externs(pipeline.clone(), &models_of(&pipeline, &externs, &domain))
                    .map_err(|e| BuildError::Program(e.to_string()))?;
                (Engine::Interp(Box::new(Mutex::new(interp))), Box::new(Digests::interpreted()))
            }
            EngineKind::Jit => {
                let compiled =
                    compile(&pipeline).map_err(|e| BuildError::Unsupported { span: e.span, message: e.message })?;
                let digests = Box::new(Digests::compiled(&compiled.interface().digests));
                let objects =
                    Objects { tables: &tables, externs: &externs, value_sets: &value_sets, digests: &digests };
                (Engine::Jit(Box::new(MachineProgram::new(compiled, &pipeline, &objects)?)), digests)
            }
        };
        let destinations = Published::new(Destinations::default(), &domain);
        let traffic = Mutex::default();
        let traces = Traces::new(&domain);
        Ok(Arc::new(VirtualDataPlane {
            pipeline,
            domain,
            engine,
            tables,
            externs,
            value_sets,
            digests,
            traffic,
            destinations,
            traces,
        }))
    }

    /// The traces compiled for the paths that packets take most.
    pub fn traces(&self) -> &Traces {
        &self.traces
    }

    /// The program.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// Which executor runs it.
    pub fn engine_kind(&self) -> EngineKind {
        match self.engine {
            Engine::Jit(_) => EngineKind::Jit,
            Engine::Interp(_) => EngineKind::Interp,
        }
    }

    /// Finds a table by control-plane name or unique suffix.
    pub fn table(&self, name: &str) -> Result<TableId, ControlError> {
        self.pipeline.table_by_name(name).ok_or_else(|| ControlError::UnknownTable(name.into()))
    }

    /// The entry a specification means: names resolved, values canonical.
    pub fn resolve(&self, spec: &EntrySpec) -> Result<(TableId, TableEntry), ControlError> {
        let (table, matches) = self.resolve_key(&spec.table, &spec.matches)?;
        let action = self.resolve_action(table, &spec.action, &spec.args)?;
        Ok((table, TableEntry { matches, priority: spec.priority, action }))
    }

    fn resolve_key(&self, table: &str, specs: &[MatchSpec]) -> Result<(TableId, Vec<MatchValue>), ControlError> {
        let id = self.table(table)?;
        let model = &self.pipeline[id];
        if model.keys.len() != specs.len() {
            let reason = hopwright_ir::entry::EntryError::KeyCount { expected: model.keys.len(), found: specs.len() };
            return Err(ControlError::Entry { table: model.name.clone(), reason });
        }
        let matches = model.keys.iter().zip(specs).map(|(key, spec)| {
            let width = key.expr.ty.width();
            match (spec, key.kind) {
                (MatchSpec::Any, MatchKind::Exact) => Err(ControlError::Entry {
                    table: model.name.clone(),
                    reason: hopwright_ir::entry::EntryError::MatchKind { key: key.name.clone() },
                }),
                (MatchSpec::Any, _) => Ok(MatchValue::any(key)),
                (MatchSpec::Exact(v), MatchKind::Ternary) => {
                    Ok(MatchValue::Ternary { value: v.clone(), mask: bits::mask(width) })
                }
                (MatchSpec::Exact(v), MatchKind::Lpm) => Ok(MatchValue::Lpm { value: v.clone(), prefix_len: width }),
                (MatchSpec::Exact(v), MatchKind::Range) => Ok(MatchValue::Range { lo: v.clone(), hi: v.clone() }),
                (MatchSpec::Exact(v), MatchKind::Optional) => Ok(MatchValue::Optional(Some(v.clone()))),
                (MatchSpec::Exact(v), _) => Ok(MatchValue::Exact(v.clone())),
                (MatchSpec::Lpm(v, len), _) => {
                    let rest = width.saturating_sub(*len);
                    Ok(MatchValue::Lpm { value: (v >> rest) << rest, prefix_len: *len })
                }
                (MatchSpec::Ternary(v, m), _) => Ok(MatchValue::Ternary { value: v & m, mask: m.clone() }),
                (MatchSpec::Range(lo, hi), _) => Ok(MatchValue::Range { lo: lo.clone(), hi: hi.clone() }),
            }
        });
        Ok((id, matches.collect::<Result<_, _>>()?))
    }

    /// An action by name, preferring those the table lists, with its arguments.
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
        self.insert_entry(table, entry)
    }

    /// Adds an entry or, if there is one with these keys and priority, changes its action.
    pub fn put(&self, spec: &EntrySpec) -> Result<(), ControlError> {
        let (table, entry) = self.resolve(spec)?;
        match self.insert_entry(table, entry.clone()) {
            Err(ControlError::Duplicate(_)) => self.modify_entry(table, entry),
            other => other,
        }
    }

    /// Changes the action of the entry with these keys and priority.
    pub fn modify(&self, spec: &EntrySpec) -> Result<(), ControlError> {
        let (table, entry) = self.resolve(spec)?;
        self.modify_entry(table, entry)
    }

    /// Removes the entry with the specification's keys and priority; its action does not matter.
    pub fn delete(&self, spec: &EntrySpec) -> Result<(), ControlError> {
        let (table, matches) = self.resolve_key(&spec.table, &spec.matches)?;
        self.delete_entry(table, &matches, spec.priority)
    }

    /// Removes all entries of a table.
    pub fn clear(&self, table: &str) -> Result<(), ControlError> {
        self.clear_entries(self.table(table)?)
    }

    /// Sets a table's default action.
    pub fn set_default(&self, table: &str, action: &str, args: &[BigUint]) -> Result<(), ControlError> {
        let table = self.table(table)?;
        let call = self.resolve_action(table, action, args)?;
        self.set_default_action(table, Some(call))
    }

    /// Whether a table may hold an entry, were there room.
    pub fn check_entry(&self, table: TableId, entry: &TableEntry) -> Result<(), ControlError> {
        hopwright_ir::entry::check_entry(&self.pipeline, table, entry)
            .map_err(|reason| ControlError::Entry { table: self.pipeline[table].name.clone(), reason })
    }

    /// Adds an entry. Ids must be of this program: they come from [`VirtualDataPlane::table`].
    pub fn insert_entry(&self, table: TableId, entry: TableEntry) -> Result<(), ControlError> {
        match self.interp() {
            None => self.tables[table.index()].insert(entry),
            interp => {
                self.tables[table.index()].insert(entry.clone())?;
                agree(interp, |i| i.insert(table, entry))
            }
        }
    }

    /// Changes the action of the entry with these keys and priority.
    pub fn modify_entry(&self, table: TableId, entry: TableEntry) -> Result<(), ControlError> {
        match self.interp() {
            None => self.tables[table.index()].modify(entry),
            interp => {
                self.tables[table.index()].modify(entry.clone())?;
                agree(interp, |i| i.modify(table, entry))
            }
        }
    }

    /// Removes the entry with these keys and priority.
    pub fn delete_entry(&self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<(), ControlError> {
        let interp = self.interp();
        let fast = &self.tables[table.index()];
        let action = if interp.is_some() { fast.get(matches, priority) } else { None };
        fast.delete(matches, priority)?;
        match action {
            Some(action) => {
                agree(interp, |i| i.delete(table, &TableEntry { matches: matches.to_vec(), priority, action }))
            }
            None => Ok(()),
        }
    }

    /// Removes all entries.
    pub fn clear_entries(&self, table: TableId) -> Result<(), ControlError> {
        let interp = self.interp();
        self.tables[table.index()].clear()?;
        agree(interp, |i| i.clear(table))
    }

    /// Sets the default action; `None`: the program's.
    pub fn set_default_action(&self, table: TableId, call: Option<ActionCall>) -> Result<(), ControlError> {
        let interp = self.interp();
        self.tables[table.index()].set_default(call.clone())?;
        agree(interp, |i| i.set_default(table, call))
    }

    /// All entries in order of insertion.
    pub fn entries(&self, table: TableId) -> Vec<TableEntry> {
        self.tables[table.index()].entries()
    }

    /// Number of entries.
    pub fn entry_count(&self, table: TableId) -> usize {
        self.tables[table.index()].len()
    }

    /// The default action in force.
    pub fn default_action(&self, table: TableId) -> ActionCall {
        self.tables[table.index()].default_action()
    }

    /// The direct counter of an entry.
    pub fn direct_count(&self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<Count, ControlError> {
        let interp = self.interp();
        let count = self.tables[table.index()].direct_count(matches, priority)?;
        let Some(interp) = interp else { return Ok(count) };
        let found = interp.entries(table).iter().find(|(e, _)| e.matches == matches && e.priority == priority);
        Ok(found.map(|(_, count)| *count).unwrap_or_default())
    }

    /// How often an entry was hit, in tables with a direct counter or idle timeouts; zero in others.
    pub fn entry_hits(&self, table: TableId, matches: &[MatchValue], priority: i32) -> u64 {
        match self.interp() {
            Some(interp) => {
                let found = interp.entries(table).iter().find(|(e, _)| e.matches == matches && e.priority == priority);
                found.map_or(0, |(_, count)| count.packets)
            }
            None => self.tables[table.index()].hits(matches, priority),
        }
    }

    /// Sets the direct counter of an entry. What a worker counts at the same moment may be lost.
    pub fn set_direct_count(
        &self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        count: Count,
    ) -> Result<(), ControlError> {
        let interp = self.interp();
        self.tables[table.index()].set_direct_count(matches, priority, count)?;
        agree(interp, |i| i.set_direct_count(table, matches, priority, count))
    }

    /// The action of the entry with these keys and priority.
    pub fn entry_action(&self, table: TableId, matches: &[MatchValue], priority: i32) -> Option<ActionCall> {
        self.tables[table.index()].get(matches, priority)
    }

    /// Sets a multicast group (from 1); `None` removes it.
    pub fn set_multicast_group(&self, group: u16, replicas: Option<Vec<Replica>>) -> Result<(), ControlError> {
        self.change_traffic(|traffic| {
            match replicas {
                Some(replicas) => traffic.groups.insert(group, replicas),
                None => traffic.groups.remove(&group),
            };
        });
        Ok(())
    }

    /// Sets a clone session (0 to 32,767); `None` removes it.
    pub fn set_clone_session(&self, session: u32, to: Option<CloneSession>) -> Result<(), ControlError> {
        self.change_traffic(|traffic| {
            match to {
                Some(to) => traffic.sessions.insert(session, to),
                None => traffic.sessions.remove(&session),
            };
        });
        Ok(())
    }

    /// Clone sessions and multicast groups.
    pub(crate) fn traffic(&self) -> TrafficManager {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes what the traffic manager knows, for both engines.
    fn change_traffic(&self, change: impl FnOnce(&mut TrafficManager)) {
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut traffic);
        match self.interp() {
            Some(mut interp) => interp.traffic = traffic.clone(),
            None => self.destinations.set(Destinations::of(&traffic)),
        }
    }

    pub(crate) fn destinations(&self) -> &Published<Destinations> {
        &self.destinations
    }

    /// One cell of a counter.
    pub fn counter(&self, name: &str, index: u64) -> Result<Count, ControlError> {
        let (id, object) = self.extern_object(name)?;
        let ExternObject::Counters(cells) = object else { return Err(self.wrong(id, "a counter")) };
        let at = self.cell_index(id, index, cells.len())?;
        match self.interp() {
            Some(mut interp) => interp.counter(id, index).map_err(|e| refused(&e)),
            None => Ok(cells.read(at)),
        }
    }

    /// All cells of a counter.
    pub fn counters(&self, name: &str) -> Result<Vec<Count>, ControlError> {
        self.counters_in(name, 0..u64::MAX)
    }

    /// Those cells of a counter that there are in a range.
    pub fn counters_in(&self, name: &str, range: Range<u64>) -> Result<Vec<Count>, ControlError> {
        let (id, object) = self.extern_object(name)?;
        let ExternObject::Counters(cells) = object else { return Err(self.wrong(id, "a counter")) };
        let end = range.end.min(cells.len() as u64);
        match self.interp() {
            Some(mut interp) => (range.start..end).map(|i| interp.counter(id, i).map_err(|e| refused(&e))).collect(),
            None => Ok((range.start..end).map(|i| cells.read(i as usize)).collect()),
        }
    }

    /// Sets one cell of a counter. What a worker counts at the same moment may be lost.
    pub fn set_counter(&self, name: &str, index: u64, count: Count) -> Result<(), ControlError> {
        let (id, object) = self.extern_object(name)?;
        let ExternObject::Counters(cells) = object else { return Err(self.wrong(id, "a counter")) };
        let at = self.cell_index(id, index, cells.len())?;
        cells.write(at, count);
        agree(self.interp(), |i| i.set_counter(id, index, count))
    }

    /// Reads one register.
    pub fn register(&self, name: &str, index: u64) -> Result<BigUint, ControlError> {
        let (id, object) = self.extern_object(name)?;
        let ExternObject::Registers { values, .. } = object else { return Err(self.wrong(id, "a register")) };
        let at = self.cell_index(id, index, values.len())?;
        match self.interp() {
            Some(mut interp) => interp.register(id, index).map_err(|e| refused(&e)),
            None => Ok(from_limbs(&values.read(at))),
        }
    }

    /// Writes one register.
    pub fn set_register(&self, name: &str, index: u64, value: impl Into<BigUint>) -> Result<(), ControlError> {
        let (id, object) = self.extern_object(name)?;
        let ExternObject::Registers { values, width } = object else { return Err(self.wrong(id, "a register")) };
        let at = self.cell_index(id, index, values.len())?;
        let value = value.into();
        if !bits::fits(&value, *width) {
            return Err(ControlError::ValueWidth { name: self.pipeline[id].name.clone(), width: *width });
        }
        let mut limbs = Vec::new();
        push_limbs(&mut limbs, &value, limbs_of(*width));
        values.write(at, &limbs);
        agree(self.interp(), |i| i.set_register(id, index, value))
    }

    /// The keys of an `AesCmac` or `Aes128` object, to set them.
    pub fn key_table(&self, name: &str) -> Result<Arc<KeyTable>, ControlError> {
        let (id, object) = self.extern_object(name)?;
        match object {
            ExternObject::Named(named) => named.key_table().cloned().ok_or_else(|| self.wrong(id, "a key holder")),
            _ => Err(self.wrong(id, "a key holder")),
        }
    }

    /// A named extern object.
    pub fn named_extern(&self, name: &str) -> Result<Arc<dyn NativeExtern>, ControlError> {
        let (id, object) = self.extern_object(name)?;
        match object {
            ExternObject::Named(named) => Ok(named.clone()),
            _ => Err(self.wrong(id, "an extern with methods of its own")),
        }
    }

    /// The interpreter, if it is the engine: for clone sessions, multicast groups and traces.
    pub fn interp(&self) -> Option<MutexGuard<'_, Interp>> {
        match &self.engine {
            Engine::Interp(interp) => Some(interp.lock().unwrap_or_else(PoisonError::into_inner)),
            Engine::Jit(_) => None,
        }
    }

    /// An interpreter that finds its entries and registers in `live`, with the extern objects of this data plane.
    pub(crate) fn following(&self, live: Box<dyn LiveState>) -> Result<Interp, ControlError> {
        let registry = models_of(&self.pipeline, &self.externs, &self.domain);
        Interp::following(self.pipeline.clone(), &registry, live).map_err(|e| refused(&e))
    }

    /// The entry that packets with these key values hit, and what they run.
    pub(crate) fn find(&self, table: TableId, keys: &[BigUint]) -> (Option<TableEntry>, ActionCall) {
        self.tables[table.index()].find(keys)
    }

    /// The oldest digest that nobody has taken. When too many wait, new ones are lost and counted.
    pub fn next_digest(&self) -> Option<Digest> {
        self.digests.next()
    }

    pub(crate) fn digests(&self) -> &Digests {
        &self.digests
    }

    pub(crate) fn value_sets(&self) -> &[ValueSet] {
        &self.value_sets
    }

    /// Whether several workers may run the program at the same time. What packets read and write in turn, registers,
    /// meters and counters of table entries, they would corrupt: then the error names it. Registers of at most 64 bits
    /// that the program says it shares (`@concurrent`) are no obstacle.
    pub fn shareable(&self) -> Result<(), BuildError> {
        if self.engine_kind() == EngineKind::Interp {
            return Ok(());
        }
        let taken_in_turn = |object: &&hopwright_ir::ExternInstance| match &object.kind {
            ExternKind::Register { ty, .. } => !object.concurrent || ty.width() > 64,
            ExternKind::DirectCounter { .. } | ExternKind::Meter { .. } | ExternKind::DirectMeter { .. } => true,
            _ => false,
        };
        match self.pipeline.externs.iter().find(taken_in_turn) {
            None => Ok(()),
            Some(object) => Err(BuildError::Program(format!(
                "`{}` is state that packets of several workers would corrupt: run this program with one worker",
                object.name
            ))),
        }
    }

    /// A worker's own copies of the counters, by the number of their object.
    pub(crate) fn join_counters(&self) -> Vec<(usize, Arc<Cells>)> {
        let counters = self.externs.iter().enumerate().filter_map(|(i, object)| match object {
            ExternObject::Counters(counters) => Some((i, counters.join())),
            _ => None,
        });
        counters.collect()
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    pub(crate) fn fast_table(&self, id: TableId) -> &Table {
        &self.tables[id.index()]
    }

    pub(crate) fn object(&self, id: ExternId) -> &ExternObject {
        &self.externs[id.index()]
    }

    fn extern_object(&self, name: &str) -> Result<(ExternId, &ExternObject), ControlError> {
        let id = self.pipeline.extern_by_name(name).ok_or_else(|| ControlError::UnknownExtern(name.into()))?;
        Ok((id, &self.externs[id.index()]))
    }

    pub(crate) fn wrong(&self, id: ExternId, wanted: &'static str) -> ControlError {
        let instance = &self.pipeline[id];
        let is = match &instance.kind {
            ExternKind::Counter { .. } => "a counter".into(),
            ExternKind::DirectCounter { .. } => "a direct counter".into(),
            ExternKind::Meter { .. } => "a meter".into(),
            ExternKind::DirectMeter { .. } => "a direct meter".into(),
            ExternKind::Checksum16 => "a checksum".into(),
            ExternKind::Register { .. } => "a register".into(),
            ExternKind::ActionProfile { .. } => "an action profile".into(),
            ExternKind::ActionSelector { .. } => "an action selector".into(),
            ExternKind::Named { type_name, .. } => format!("of type {type_name}"),
        };
        ControlError::WrongExtern { name: instance.name.clone(), is, wanted }
    }

    pub(crate) fn cell_index(&self, id: ExternId, index: u64, size: usize) -> Result<usize, ControlError> {
        usize::try_from(index).ok().filter(|i| *i < size).ok_or_else(|| ControlError::Index {
            name: self.pipeline[id].name.clone(),
            index,
            size: size as u64,
        })
    }
}

impl fmt::Debug for VirtualDataPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualDataPlane")
            .field("program", &self.pipeline.name)
            .field("engine", &self.engine_kind())
            .finish_non_exhaustive()
    }
}

/// Most cells of a counter or register array.
const MAX_CELLS: u64 = 1 << 28;

impl ExternObject {
    fn new(
        pipeline: &Arc<Pipeline>,
        id: ExternId,
        types: &ExternTypes,
        domain: &Arc<Domain>,
    ) -> Result<ExternObject, String> {
        let kind = &pipeline[id].kind;
        let cells = |size: u64| {
            usize::try_from(size)
                .ok()
                .filter(|_| size <= MAX_CELLS)
                .ok_or_else(|| format!("{size} cells are not supported yet (at most {MAX_CELLS})"))
        };
        Ok(match kind {
            ExternKind::Counter { size, .. } => ExternObject::Counters(Counters::new(cells(*size)?)),
            ExternKind::Register { size, ty } => {
                let width = ty.width();
                ExternObject::Registers { values: Registers::new(cells(*size)?, limbs_of(width).max(1)), width }
            }
            ExternKind::Named { type_name, args } => ExternObject::Named(types.construct(type_name, args, domain)?),
            ExternKind::Meter { size, unit } => ExternObject::Meters(Meters::indirect(*unit, cells(*size)?, domain)),
            ExternKind::DirectMeter { unit, .. } => ExternObject::Meters(Meters::direct(*unit, domain)),
            ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. } => {
                Profiles::new(pipeline, id, domain).map_or(ExternObject::Stateless, ExternObject::Profile)
            }
            ExternKind::DirectCounter { .. } | ExternKind::Checksum16 => ExternObject::Stateless,
        })
    }

    /// What generated code gets; named externs are called by [`MachineProgram`]'s own handle.
    pub(crate) fn handle(&self) -> ExternHandle {
        let null = std::ptr::null_mut();
        match self {
            ExternObject::Meters(meters) => meters.handle(),
            ExternObject::Profile(_) => ExternHandle { state: null, size: 0, call: Some(table::choose) },
            ExternObject::Registers { values, .. } => {
                ExternHandle { state: values.as_ptr().cast(), size: values.len() as u64, call: None }
            }
            // Each worker has its own counters.
            ExternObject::Counters(_) | ExternObject::Named(_) | ExternObject::Stateless => {
                ExternHandle { state: null, size: 0, call: None }
            }
        }
    }
}

/// A registry for one interpreter that hands out the objects of this data plane, so that keys set here count there.
/// The interpreter builds its objects in the order of the program's instances.
fn models_of(pipeline: &Pipeline, externs: &[ExternObject], domain: &Arc<Domain>) -> ExternRegistry {
    let mut by_type: std::collections::BTreeMap<&str, Vec<Arc<dyn NativeExtern>>> = Default::default();
    for (instance, object) in pipeline.externs.iter().zip(externs).rev() {
        if let (ExternKind::Named { type_name, .. }, ExternObject::Named(object)) = (&instance.kind, object) {
            by_type.entry(type_name).or_default().push(object.clone());
        }
    }
    let mut registry = ExternRegistry::new();
    for (type_name, objects) in by_type {
        let (objects, domain) = (Mutex::new(objects), domain.clone());
        registry.add_type(type_name, move |_| {
            let object = objects.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let object = object.ok_or_else(|| "more objects than the program declares".to_string())?;
            Ok(Box::new(Model::new(object, &domain)) as Box<dyn ExternModel>)
        });
    }
    registry
}

/// Repeats for the interpreter what the table already accepted.
pub(crate) fn agree(
    interp: Option<MutexGuard<'_, Interp>>,
    change: impl FnOnce(&mut Interp) -> Result<(), hopwright_ir::interp::ControlError>,
) -> Result<(), ControlError> {
    match interp {
        Some(mut interp) => change(&mut interp).map_err(|e| refused(&e)),
        None => Ok(()),
    }
}

fn refused(e: &hopwright_ir::interp::ControlError) -> ControlError {
    ControlError::Interpreter(e.to_string())
}
