//! What a device with a program holds beyond the data plane's own state, and how updates change both. One lock guards it, so that
//! the writes of all controllers are serialised.
//!
//! `change` makes changes and undoes them. Modules by kind of object plan them: `entries` (tables), `resources` (counters, registers, value sets), `indirect` (action profiles,
//! meters), `replication` (multicast and clones), `digests`. `read` reads; `arbitration` decides who may write.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::bytes::Bytes;
use hopwright_dataplane::VirtualDataPlane;
use hopwright_ir::{MatchValue, TableId};

use crate::change::Change;
use crate::digests::Digests;
use crate::failure::{Result, aborted, invalid, unimplemented};
use crate::program::Program;
use crate::proto::v1;
use crate::references::Referrers;
use crate::role::Rights;
use crate::translation::Translations;
use v1::entity::Entity;
use v1::update::Type;

/// An entry's identity: table, keys, priority.
pub(crate) type EntryKey = (TableId, Vec<MatchValue>, i32);

/// What a controller wrote with an entry and the data plane does not store.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Note {
    pub controller_metadata: u64,
    pub metadata: Bytes,
    pub idle: Option<Idle>,
}

/// An idle timeout.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Idle {
    pub timeout: Duration,
    /// When the entry was last found hit, or written.
    pub last_hit: Instant,
    /// The number of its hits at that time.
    pub hits: u64,
    /// When a controller was last told that the entry is idle, since then.
    pub told: Option<Instant>,
}

/// What a batch consists of.
#[derive(Clone, Debug)]
pub enum Write {
    /// An update.
    Update(v1::Update),
    /// Sets the cell of an entry in a register that has a cell for each entry of the entry's table.
    EntryRegister {
        /// The entry: its table, matches and priority.
        entry: v1::TableEntry,
        /// The register.
        register_id: u32,
        /// The value.
        data: v1::P4Data,
    },
    /// Gives a cell of an extern object a setting; see [`hopwright_dataplane::externs::NativeExtern::control`].
    Setting {
        /// The object.
        object: u32,
        /// The cell.
        cell: Cell,
        /// The setting.
        data: Vec<u8>,
    },
}

/// A cell of an extern object.
#[derive(Clone, Debug)]
pub enum Cell {
    /// At an index.
    Index(u64),
    /// At the index of this entry.
    Entry(Box<v1::TableEntry>),
}

/// A device's program with everything that controllers have written.
pub(crate) struct State {
    /// The number of the program's run ([`crate::Running`]).
    pub generation: u64,
    pub program: Program,
    pub vdp: Arc<VirtualDataPlane>,
    pub notes: HashMap<EntryKey, Note>,
    pub default_notes: BTreeMap<TableId, Note>,
    pub groups: BTreeMap<u32, v1::MulticastGroupEntry>,
    pub sessions: BTreeMap<u32, v1::CloneSessionEntry>,
    pub value_sets: BTreeMap<u32, Vec<v1::ValueSetMember>>,
    pub digests: Digests,
    pub translations: Translations,
    pub referrers: Referrers,
}

impl State {
    /// The initial state of a program.
    pub(crate) fn new(program: Program, vdp: Arc<VirtualDataPlane>) -> State {
        let digests = Digests::new(&program);
        let translations = Translations::new(&program.schema.translated_types);
        let mut state = State {
            generation: State::next_generation(),
            program,
            vdp,
            notes: HashMap::new(),
            default_notes: BTreeMap::new(),
            groups: BTreeMap::new(),
            sessions: BTreeMap::new(),
            value_sets: BTreeMap::new(),
            digests,
            translations,
            referrers: Referrers::default(),
        };
        if !state.translations.is_empty() {
            let used = state.used();
            state.translations.keep(used);
        }
        state.count_all();
        state
    }

    /// Applies each write, independently of the others.
    pub(crate) fn write_each(&mut self, writes: &[Write], rights: &Rights) -> Vec<Result<()>> {
        writes.iter().map(|write| self.write(write, rights, None)).collect()
    }

    /// Applies all writes or none. `last` is done when they have been applied; if it fails they are undone.
    pub(crate) fn write_all(
        &mut self,
        writes: &[Write],
        rights: &Rights,
        last: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Result<()>>> {
        let mut log = Vec::new();
        self.translations.begin();
        for (at, write) in writes.iter().enumerate() {
            if let Err(failure) = self.write(write, rights, Some(&mut log)) {
                self.undo(log);
                self.translations.undo();
                let mut results = vec![Err(aborted("another update of the batch failed")); writes.len()];
                results[at] = Err(failure);
                return Ok(results);
            }
        }
        if let Err(failure) = last() {
            self.undo(log);
            self.translations.undo();
            return Err(failure);
        }
        Ok(vec![Ok(()); writes.len()])
    }

    /// Makes a write completely or not at all. Without a log it is alone, and with one a part of a batch.
    fn write(&mut self, write: &Write, rights: &Rights, log: Option<&mut Vec<Change>>) -> Result<()> {
        if self.translations.is_empty() {
            return self.write_plane(write, rights, log);
        }
        let alone = log.is_none();
        if alone {
            self.translations.begin();
        }
        let done = self.write_in_plane(write).and_then(|write| self.write_plane(&write, rights, log));
        if alone && done.is_err() {
            self.translations.undo();
        }
        done
    }

    /// Makes a write in the data plane's values.
    fn write_plane(&mut self, write: &Write, rights: &Rights, log: Option<&mut Vec<Change>>) -> Result<()> {
        let plan = match write {
            Write::Update(update) => self.plan(update, rights)?,
            Write::EntryRegister { entry, register_id, data } => {
                self.plan_entry_register(entry, *register_id, data, rights)?
            }
            Write::Setting { object, cell, data } => self.plan_setting(*object, cell, data, rights)?,
        };
        self.carry_out(plan, log)
    }

    /// What an update changes. It is checked completely; what only the change itself can find out is in the first change.
    ///
    /// # Errors
    /// The update is invalid, or not permitted.
    pub(crate) fn plan(&self, update: &v1::Update, rights: &Rights) -> Result<Vec<Change>> {
        let kind = Type::try_from(update.r#type).unwrap_or(Type::Unspecified);
        if kind == Type::Unspecified {
            return Err(invalid("the type of the update is missing"));
        }
        let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
        let entity = entity.ok_or_else(|| invalid("the update has no entity"))?;
        rights.check_write(entity)?;
        let plan = match entity {
            Entity::TableEntry(entry) => self.plan_entry(kind, entry),
            Entity::CounterEntry(entry) => self.plan_counter(kind, entry),
            Entity::DirectCounterEntry(entry) => self.plan_direct_counter(kind, entry),
            Entity::RegisterEntry(entry) => self.plan_register(kind, entry),
            Entity::ValueSetEntry(entry) => self.plan_value_set(kind, entry),
            Entity::PacketReplicationEngineEntry(entry) => self.plan_replication(kind, entry),
            Entity::DigestEntry(entry) => self.plan_digest(kind, entry),
            Entity::MeterEntry(entry) => self.plan_meter(kind, entry),
            Entity::DirectMeterEntry(entry) => self.plan_direct_meter(kind, entry),
            Entity::ActionProfileMember(member) => self.plan_member(kind, member),
            Entity::ActionProfileGroup(group) => self.plan_members_group(kind, group),
            Entity::ExternEntry(_) => Err(unimplemented("extern objects of other architectures are not supported")),
        }?;
        self.check_rules(&plan)?;
        Ok(plan)
    }
}

/// Checks that an update is a MODIFY.
pub(crate) fn modify_only(kind: Type, what: &str) -> Result<()> {
    if kind == Type::Modify { Ok(()) } else { Err(invalid(format!("{what} can only be modified"))) }
}

#[cfg(test)]
mod tests;
