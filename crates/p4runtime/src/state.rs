//! What a device with a program holds beyond the data plane's own state, and how updates change both. One lock guards it, so that
//! the writes of all controllers are serialised.
//!
//! Modules by kind of object: `entries` (tables), `resources` (counters, registers, value sets), `indirect` (action profiles,
//! meters), `replication` (multicast and clones), `digests`. `read` reads; `arbitration` decides who may write.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::bytes::Bytes;
use hopwright_dataplane::VirtualDataPlane;
use hopwright_ir::{MatchValue, TableId};

use crate::digests::Digests;
use crate::failure::{Result, aborted, invalid, unimplemented};
use crate::program::Program;
use crate::proto::v1;
use crate::role::Rights;
use v1::entity::Entity;
use v1::update::Type;

/// Reverses an update.
pub(crate) type Undo = Box<dyn FnOnce(&mut State)>;

/// The undo log of an atomic batch.
pub(crate) type UndoLog<'a> = Option<&'a mut Vec<Undo>>;

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
    /// The controller has been notified.
    pub notified: bool,
}

/// A device's program with everything that controllers have written.
pub(crate) struct State {
    /// The number of the program's run ([`crate::Running`]).
    pub generation: u64,
    pub program: Program,
    pub vdp: Arc<VirtualDataPlane>,
    pub notes: HashMap<EntryKey, Note>,
    pub default_notes: HashMap<TableId, Note>,
    pub groups: BTreeMap<u32, v1::MulticastGroupEntry>,
    pub sessions: BTreeMap<u32, v1::CloneSessionEntry>,
    pub value_sets: BTreeMap<u32, Vec<v1::ValueSetMember>>,
    pub digests: Digests,
}

impl State {
    /// The initial state of a program.
    pub(crate) fn new(program: Program, vdp: Arc<VirtualDataPlane>) -> State {
        let digests = Digests::new(&program);
        State {
            generation: State::next_generation(),
            program,
            vdp,
            notes: HashMap::new(),
            default_notes: HashMap::new(),
            groups: BTreeMap::new(),
            sessions: BTreeMap::new(),
            value_sets: BTreeMap::new(),
            digests,
        }
    }

    /// Applies each update, independently of the others.
    pub(crate) fn write_each(&mut self, updates: &[v1::Update], rights: &Rights) -> Vec<Result<()>> {
        updates.iter().map(|u| self.apply(u, rights, None)).collect()
    }

    /// Applies all updates or none.
    pub(crate) fn write_all(&mut self, updates: &[v1::Update], rights: &Rights) -> Vec<Result<()>> {
        let mut log = Vec::new();
        for (at, update) in updates.iter().enumerate() {
            if let Err(failure) = self.apply(update, rights, Some(&mut log)) {
                while let Some(undo) = log.pop() {
                    undo(self);
                }
                let mut results = vec![Err(aborted("another update of the batch failed")); updates.len()];
                results[at] = Err(failure);
                return results;
            }
        }
        vec![Ok(()); updates.len()]
    }

    fn apply(&mut self, update: &v1::Update, rights: &Rights, log: UndoLog) -> Result<()> {
        let kind = Type::try_from(update.r#type).unwrap_or(Type::Unspecified);
        if kind == Type::Unspecified {
            return Err(invalid("the type of the update is missing"));
        }
        let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
        let entity = entity.ok_or_else(|| invalid("the update has no entity"))?;
        rights.check_write(entity)?;
        match entity {
            Entity::TableEntry(said) => self.write_entry(kind, said, log),
            Entity::CounterEntry(said) => self.write_counter(kind, said, log),
            Entity::DirectCounterEntry(said) => self.write_direct_counter(kind, said, log),
            Entity::RegisterEntry(said) => self.write_register(kind, said, log),
            Entity::ValueSetEntry(said) => self.write_value_set(kind, said, log),
            Entity::PacketReplicationEngineEntry(said) => self.write_replication(kind, said, log),
            Entity::DigestEntry(said) => self.write_digest(kind, said, log),
            Entity::MeterEntry(said) => self.write_meter(kind, said, log),
            Entity::DirectMeterEntry(said) => self.write_direct_meter(kind, said, log),
            Entity::ActionProfileMember(said) => self.write_member(kind, said, log),
            Entity::ActionProfileGroup(said) => self.write_members_group(kind, said, log),
            Entity::ExternEntry(_) => Err(unimplemented("extern objects of other architectures are not supported")),
        }
    }
}

/// Checks that an update is a MODIFY.
pub(crate) fn modify_only(kind: Type, what: &str) -> Result<()> {
    if kind == Type::Modify { Ok(()) } else { Err(invalid(format!("{what} can only be modified"))) }
}
