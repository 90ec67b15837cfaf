//! What outlives a packet: tables, counters, registers, value sets, named externs; and the control plane's access to
//! them.
//!
//! Tables are lists searched from front to back, deliberately independent of any fast structure. Does not live here:
//! what packets do with all this.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigUint;

use super::{ExternModel, ExternRegistry, Function, LiveState, Value};
use crate::bits;
use crate::entry::{EntryError, check_default, check_entry, check_members};
use crate::hash::Random;
use crate::meter::Meter;
use crate::model::{
    ActionCall, EntryTarget, ExternFn, ExternId, ExternKind, MatchValue, Pipeline, StmtKind, TableEntry, TableId, Unit,
    ValueSetId, WeightedAction,
};
use crate::profile::{Profile, ProfileError};
use crate::walk;

/// Most counters or registers of one object.
const MAX_CELLS: u64 = 1 << 24;

/// Why the control plane's wish was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlError {
    /// There is no such object, or it is of another kind.
    Unknown(String),
    /// The entry, default action or member is not legal.
    Entry(EntryError),
    /// An entry with this match and priority is there already.
    Duplicate,
    /// There is no entry with this match and priority.
    NotFound,
    /// The table or value set is full.
    Full,
    /// The program made the entries or the default action constant.
    Constant,
    /// An index beyond the object's size.
    Index {
        /// The size.
        size: u64,
    },
    /// A value that does not fit.
    TooWide {
        /// Bits there are.
        width: u32,
    },
    /// A named extern refused.
    Extern(String),
    /// What an action profile refuses.
    Profile(ProfileError),
}

impl std::fmt::Display for ControlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ControlError::Unknown(what) => write!(f, "no such object: {what}"),
            ControlError::Entry(e) => e.fmt(f),
            ControlError::Duplicate => f.write_str("the entry exists already"),
            ControlError::NotFound => f.write_str("there is no such entry"),
            ControlError::Full => f.write_str("no room for another entry"),
            ControlError::Constant => f.write_str("the program made this constant"),
            ControlError::Index { size } => write!(f, "index out of range, the size is {size}"),
            ControlError::TooWide { width } => write!(f, "value does not fit {width} bits"),
            ControlError::Extern(message) => f.write_str(message),
            ControlError::Profile(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for ControlError {}

impl From<EntryError> for ControlError {
    fn from(e: EntryError) -> Self {
        ControlError::Entry(e)
    }
}

impl From<ProfileError> for ControlError {
    fn from(e: ProfileError) -> Self {
        ControlError::Profile(e)
    }
}

/// Packets and bytes counted. Wraps at 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes of the packets as they were received.
    pub bytes: u64,
}

impl Count {
    pub(super) fn add(&mut self, bytes: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

/// What only entries of some tables have.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    /// In tables with an action profile: what the entry leads to.
    pub target: Option<EntryTarget>,
    /// The direct meter, if it has rates.
    pub meter: Option<Meter>,
}

/// A table at run time.
#[derive(Clone, Debug)]
pub(super) struct TableState {
    /// In order of insertion.
    pub entries: Vec<(TableEntry, Count)>,
    /// For each of them the rest.
    pub beside: Vec<Beside>,
    pub default_action: ActionCall,
}

impl TableState {
    /// Index of the entry that a packet with these key values hits. With priorities the highest wins, of equal ones
    /// the first inserted; else the longest prefix wins.
    pub fn lookup(&self, keys: &[Value], has_priority: bool) -> Option<usize> {
        let prefix = |entry: &TableEntry| {
            let lengths = entry.matches.iter().map(|m| match m {
                MatchValue::Lpm { prefix_len, .. } => i64::from(*prefix_len),
                _ => 0,
            });
            lengths.sum::<i64>()
        };
        let mut best: Option<(i64, usize)> = None;
        for (index, (entry, _)) in self.entries.iter().enumerate() {
            let hit = entry.matches.iter().zip(keys).all(|(m, key)| m.matches(&key.bits, key.width));
            let rank = if has_priority { i64::from(entry.priority) } else { prefix(entry) };
            if hit && best.is_none_or(|(best_rank, _)| rank > best_rank) {
                best = Some((rank, index));
            }
        }
        best.map(|(_, index)| index)
    }
}

/// An extern object at run time.
pub(super) enum ExternState {
    Counters(Vec<Count>),
    Registers(Vec<BigUint>),
    Named(Box<dyn ExternModel>),
    /// `None` for those without rates.
    Meters(Unit, Vec<Option<Meter>>),
    Profile(Profile),
    /// Direct counters and meters live in the entries.
    Stateless,
}

/// Everything that outlives a packet.
pub(super) struct Store {
    pub tables: Vec<TableState>,
    pub externs: Vec<ExternState>,
    pub functions: BTreeMap<String, Function>,
    pub value_sets: Vec<Vec<Vec<MatchValue>>>,
    pub random: Random,
    /// The switch that is followed; it has tables and registers then.
    pub live: Option<Box<dyn LiveState>>,
}

impl Store {
    /// Everything as the program says it starts. Fails if an extern is not registered or cannot be built.
    /// Following a live switch, it keeps no cells.
    pub fn new(
        pipeline: &Arc<Pipeline>,
        registry: &ExternRegistry,
        live: Option<Box<dyn LiveState>>,
    ) -> Result<Store, ControlError> {
        let tables = pipeline
            .tables
            .iter()
            .map(|t| TableState {
                entries: t.entries.iter().map(|e| (e.clone(), Count::default())).collect(),
                beside: t.entries.iter().map(|e| Beside { target: own_action(t, e), meter: None }).collect(),
                default_action: t.default_action.clone(),
            })
            .collect();
        let externs = pipeline
            .externs
            .iter()
            .enumerate()
            .map(|(at, e)| match &e.kind {
                ExternKind::Counter { .. } | ExternKind::Register { .. } if live.is_some() => {
                    Ok(ExternState::Stateless)
                }
                ExternKind::Counter { size, .. }
                | ExternKind::Register { size, .. }
                | ExternKind::Meter { size, .. }
                    if *size > MAX_CELLS =>
                {
                    let message = format!("{}: more than {MAX_CELLS} cells are not supported yet", e.name);
                    Err(ControlError::Extern(message))
                }
                ExternKind::Counter { size, .. } => Ok(ExternState::Counters(vec![Count::default(); *size as usize])),
                ExternKind::Register { size, .. } => Ok(ExternState::Registers(vec![BigUint::ZERO; *size as usize])),
                ExternKind::Named { type_name, args } => registry
                    .construct(type_name, args)
                    .map(ExternState::Named)
                    .map_err(|m| ControlError::Extern(format!("{}: {m}", e.name))),
                ExternKind::Meter { size, unit } => Ok(ExternState::Meters(*unit, vec![None; *size as usize])),
                ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. } => {
                    let profile = Profile::new(pipeline, ExternId(at as u32));
                    Ok(profile.map_or(ExternState::Stateless, ExternState::Profile))
                }
                ExternKind::DirectCounter { .. } | ExternKind::DirectMeter { .. } | ExternKind::Checksum16 => {
                    Ok(ExternState::Stateless)
                }
            })
            .collect::<Result<_, _>>()?;
        let mut functions = BTreeMap::new();
        let mut missing = None;
        walk::all_stmts(pipeline, &mut |stmt| {
            let StmtKind::Extern(call) = &stmt.kind else { return };
            let ExternFn::Named { instance: None, name, .. } = &call.function else { return };
            match registry.function(name) {
                Some(f) => {
                    functions.insert(name.clone(), f);
                }
                None => missing = Some(name.clone()),
            }
        });
        if let Some(name) = missing {
            return Err(ControlError::Unknown(format!("extern function `{name}`")));
        }
        Ok(Store {
            tables,
            externs,
            functions,
            value_sets: vec![Vec::new(); pipeline.value_sets.len()],
            random: Random::new(0),
            live,
        })
    }

    pub(super) fn table(&mut self, id: TableId) -> Result<&mut TableState, ControlError> {
        self.tables.get_mut(id.index()).ok_or_else(|| ControlError::Unknown(format!("table {}", id.0)))
    }

    pub(super) fn position(&mut self, id: TableId, key: &TableEntry) -> Result<Option<usize>, ControlError> {
        Ok(self.table(id)?.entries.iter().position(|(e, _)| e.matches == key.matches && e.priority == key.priority))
    }

    pub(super) fn changeable(&mut self, pipeline: &Pipeline, id: TableId) -> Result<(), ControlError> {
        self.table(id)?;
        if pipeline[id].const_entries { Err(ControlError::Constant) } else { Ok(()) }
    }

    pub fn insert(&mut self, pipeline: &Pipeline, id: TableId, entry: TableEntry) -> Result<(), ControlError> {
        self.changeable(pipeline, id)?;
        check_entry(pipeline, id, &entry)?;
        if self.position(id, &entry)?.is_some() {
            return Err(ControlError::Duplicate);
        }
        let table = self.table(id)?;
        if table.entries.len() as u64 >= pipeline[id].size {
            return Err(ControlError::Full);
        }
        table.beside.push(Beside { target: own_action(&pipeline[id], &entry), meter: None });
        table.entries.push((entry, Count::default()));
        Ok(())
    }

    pub fn modify(&mut self, pipeline: &Pipeline, id: TableId, entry: TableEntry) -> Result<(), ControlError> {
        self.changeable(pipeline, id)?;
        check_entry(pipeline, id, &entry)?;
        let at = self.position(id, &entry)?.ok_or(ControlError::NotFound)?;
        self.aim(pipeline, id, at, own_action(&pipeline[id], &entry));
        self.table(id)?.entries[at].0.action = entry.action;
        Ok(())
    }

    pub fn delete(&mut self, pipeline: &Pipeline, id: TableId, entry: &TableEntry) -> Result<(), ControlError> {
        self.changeable(pipeline, id)?;
        let at = self.position(id, entry)?.ok_or(ControlError::NotFound)?;
        self.aim(pipeline, id, at, None);
        let table = self.table(id)?;
        table.entries.remove(at);
        table.beside.remove(at);
        Ok(())
    }

    pub fn clear(&mut self, pipeline: &Pipeline, id: TableId) -> Result<(), ControlError> {
        self.changeable(pipeline, id)?;
        for at in 0..self.table(id)?.entries.len() {
            self.aim(pipeline, id, at, None);
        }
        let table = self.table(id)?;
        table.entries.clear();
        table.beside.clear();
        Ok(())
    }

    pub fn set_default(
        &mut self,
        pipeline: &Pipeline,
        id: TableId,
        call: Option<ActionCall>,
    ) -> Result<(), ControlError> {
        self.table(id)?;
        if pipeline[id].const_default_action {
            return Err(ControlError::Constant);
        }
        let call = match call {
            Some(call) => {
                check_default(pipeline, id, &call)?;
                call
            }
            None => pipeline[id].default_action.clone(),
        };
        self.table(id)?.default_action = call;
        Ok(())
    }

    pub fn set_direct_count(
        &mut self,
        id: TableId,
        matches: &[MatchValue],
        priority: i32,
        count: Count,
    ) -> Result<(), ControlError> {
        let found = self.table(id)?.entries.iter_mut().find(|(e, _)| e.matches == matches && e.priority == priority);
        if let Some((_, cell)) = found {
            *cell = count;
        }
        Ok(())
    }

    pub fn set_value_set(
        &mut self,
        pipeline: &Pipeline,
        id: ValueSetId,
        members: Vec<Vec<MatchValue>>,
    ) -> Result<(), ControlError> {
        let set =
            pipeline.value_sets.get(id.index()).ok_or_else(|| ControlError::Unknown(format!("value set {}", id.0)))?;
        if members.len() as u64 > set.size {
            return Err(ControlError::Full);
        }
        check_members(set, &members)?;
        self.value_sets[id.index()] = members;
        Ok(())
    }

    pub(super) fn state(&mut self, id: ExternId) -> Result<&mut ExternState, ControlError> {
        self.externs.get_mut(id.index()).ok_or_else(|| ControlError::Unknown(format!("extern {}", id.0)))
    }

    pub fn counter(&mut self, id: ExternId, index: u64) -> Result<&mut Count, ControlError> {
        match self.state(id)? {
            ExternState::Counters(cells) => {
                let size = cells.len() as u64;
                cells.get_mut(index as usize).ok_or(ControlError::Index { size })
            }
            _ => Err(ControlError::Unknown("not a counter".into())),
        }
    }

    pub fn register(&mut self, id: ExternId, index: u64) -> Result<&mut BigUint, ControlError> {
        match self.state(id)? {
            ExternState::Registers(cells) => {
                let size = cells.len() as u64;
                cells.get_mut(index as usize).ok_or(ControlError::Index { size })
            }
            _ => Err(ControlError::Unknown("not a register".into())),
        }
    }

    pub fn write_register(
        &mut self,
        pipeline: &Pipeline,
        id: ExternId,
        index: u64,
        value: BigUint,
    ) -> Result<(), ControlError> {
        let cell = self.register(id, index)?;
        if let ExternKind::Register { ty, .. } = &pipeline[id].kind {
            let width = ty.width();
            if !bits::fits(&value, width) {
                return Err(ControlError::TooWide { width });
            }
        }
        *cell = value;
        Ok(())
    }

    pub fn named(&mut self, id: ExternId) -> Result<&mut dyn ExternModel, ControlError> {
        match self.state(id)? {
            ExternState::Named(model) => Ok(model.as_mut()),
            _ => Err(ControlError::Unknown("not a named extern".into())),
        }
    }
}

/// In a table with an action profile, an entry that names its action itself leads to a set of that one.
fn own_action(table: &crate::model::Table, entry: &TableEntry) -> Option<EntryTarget> {
    let action = WeightedAction { action: entry.action.clone(), weight: 1 };
    table.implementation.is_some().then(|| EntryTarget::Set(vec![action]))
}
