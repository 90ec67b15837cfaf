//! The store of a stand-alone interpreter, with the control plane's access to it. It consists of plain lists,
//! deliberately independent of the data plane's structures.

use std::sync::Arc;

use num_bigint::BigUint;

use super::store::{Entry, Store};
use super::{CloneSession, ExternError, Replica, TrafficManager};
use hopwright_ir::bits;
use hopwright_ir::entry::{EntryError, EntryIndices, check_default, check_entry, check_keys, check_members};
use hopwright_ir::meter::{Color, Meter, Rates};
use hopwright_ir::profile::{Profile, ProfileError};
use hopwright_ir::{
    ActionCall, EntryTarget, ExternId, ExternKind, Group, MatchValue, Pipeline, TableEntry, TableId, ValueSetId,
    WeightedAction,
};

/// The maximum number of cells of a counter or register array.
const MAX_CELLS: u64 = 1 << 24;

/// The reason why a control-plane request was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// There is no such object, or it is of another kind.
    #[error("no such object: {0}")]
    Unknown(String),
    /// The entry, default action or member is not legal.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// There is an entry with this match and priority.
    #[error("the entry exists already")]
    Duplicate,
    /// There is no entry with this match and priority.
    #[error("there is no such entry")]
    NotFound,
    /// The table or value set is full.
    #[error("no room for another entry")]
    Full,
    /// The program declares the entries or the default action constant.
    #[error("the program made this constant")]
    Constant,
    /// The index is out of range.
    #[error("index out of range, the size is {size}")]
    Index {
        /// The size.
        size: u64,
    },
    /// The value is too wide.
    #[error("value does not fit {width} bits")]
    TooWide {
        /// The width of the type in bits.
        width: u32,
    },
    /// The program uses an extern without a model, or whose model could not be created.
    #[error("{name}: {reason}")]
    Extern {
        /// The object.
        name: String,
        /// Why.
        reason: ExternError,
    },
    /// A request to an action profile was refused.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// The value of a counter. Wraps at 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes of the packets as received.
    pub bytes: u64,
}

impl Count {
    fn add(&mut self, bytes: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

/// An entry with its counter, target and meter.
#[derive(Clone, Debug)]
struct Stored {
    entry: TableEntry,
    sequence: u64,
    /// Its index, if the table has cells for entries.
    index: Option<u32>,
    count: Count,
    /// The entry's target in the table's action profile.
    target: Option<EntryTarget>,
    /// The direct meter, if it has rates.
    meter: Option<Meter>,
}

#[derive(Clone, Debug)]
struct TableState {
    /// In insertion order.
    entries: Vec<Stored>,
    default_action: ActionCall,
    /// The number of entries inserted so far, for sequence numbers.
    inserted: u64,
    /// In tables with cells for entries.
    indices: Option<EntryIndices>,
}

impl TableState {
    fn push(&mut self, entry: TableEntry, target: Option<EntryTarget>) {
        let (sequence, index) = (self.inserted, self.indices.as_mut().map(EntryIndices::take));
        self.entries.push(Stored { entry, sequence, index, count: Count::default(), target, meter: None });
        self.inserted += 1;
    }

    fn remove(&mut self, at: usize) {
        let index = self.entries.remove(at).index;
        if let (Some(indices), Some(index)) = (&mut self.indices, index) {
            indices.release(index);
        }
    }

    fn find(&self, matches: &[MatchValue], priority: i32) -> Option<usize> {
        self.entries.iter().position(|s| s.entry.matches == matches && s.entry.priority == priority)
    }

    fn find_mut(&mut self, matches: &[MatchValue], priority: i32) -> Option<&mut Stored> {
        self.find(matches, priority).map(|at| &mut self.entries[at])
    }
}

enum Object {
    Counters(Vec<Count>),
    Registers(Vec<BigUint>),
    /// `None` for meters without rates.
    Meters(Vec<Option<Meter>>),
    Profile(Profile),
    /// Named externs keep their own state; direct counters and meters are in table entries.
    Stateless,
}

/// The state of a program, in lists.
pub struct LinearStore {
    pipeline: Arc<Pipeline>,
    tables: Vec<TableState>,
    objects: Vec<Object>,
    value_sets: Vec<Vec<Vec<MatchValue>>>,
    /// Clone sessions and multicast groups.
    pub traffic: TrafficManager,
}

impl LinearStore {
    /// Creates the initial state of a program.
    ///
    /// # Errors
    /// An object has too many cells.
    pub fn new(pipeline: &Arc<Pipeline>) -> Result<LinearStore, ControlError> {
        let tables = pipeline.tables.iter().map(|table| {
            let default_action = table.default_action.clone();
            let indices = (!table.entry_cells.is_empty()).then(EntryIndices::default);
            let mut state = TableState { entries: Vec::new(), default_action, inserted: 0, indices };
            table.entries.iter().for_each(|e| state.push(e.clone(), own_action(table, e)));
            state
        });
        let objects = pipeline.externs.iter().enumerate().map(|(at, e)| match &e.kind {
            ExternKind::Counter { size, .. } | ExternKind::Register { size, .. } | ExternKind::Meter { size, .. }
                if *size > MAX_CELLS =>
            {
                Err(ControlError::Extern { name: e.name.clone(), reason: ExternError::Cells { most: MAX_CELLS } })
            }
            ExternKind::Counter { size, .. } => Ok(Object::Counters(vec![Count::default(); *size as usize])),
            ExternKind::Register { size, .. } => Ok(Object::Registers(vec![e.initial.clone(); *size as usize])),
            ExternKind::Meter { size, .. } => Ok(Object::Meters(vec![None; *size as usize])),
            ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. } => {
                let profile = Profile::new(pipeline, ExternId(at as u32));
                Ok(profile.map_or(Object::Stateless, Object::Profile))
            }
            _ => Ok(Object::Stateless),
        });
        Ok(LinearStore {
            pipeline: pipeline.clone(),
            tables: tables.collect(),
            objects: objects.collect::<Result<_, _>>()?,
            value_sets: vec![Vec::new(); pipeline.value_sets.len()],
            traffic: TrafficManager::default(),
        })
    }

    fn table(&mut self, id: TableId) -> Result<&mut TableState, ControlError> {
        self.tables.get_mut(id.index()).ok_or_else(|| ControlError::Unknown(format!("table {}", id.0)))
    }

    fn changeable(&mut self, id: TableId) -> Result<(), ControlError> {
        self.table(id)?;
        if self.pipeline[id].const_entries { Err(ControlError::Constant) } else { Ok(()) }
    }

    fn add(&mut self, id: TableId, entry: TableEntry, target: Option<EntryTarget>) -> Result<(), ControlError> {
        let size = self.pipeline[id].size;
        let table = self.table(id)?;
        if table.find(&entry.matches, entry.priority).is_some() {
            return Err(ControlError::Duplicate);
        }
        if table.entries.len() as u64 >= size {
            return Err(ControlError::Full);
        }
        table.push(entry, None);
        let at = table.entries.len() - 1;
        let index = table.entries[at].index;
        self.set_target(id, at, target);
        if let Some(index) = index {
            self.clear_cells(id, index);
        }
        Ok(())
    }

    /// Sets the cells of an entry to what they hold at first.
    fn clear_cells(&mut self, id: TableId, index: u32) {
        let pipeline = self.pipeline.clone();
        for &object in &pipeline[id].entry_cells {
            if let Ok(cell) = self.register_cell(object, index.into()) {
                *cell = pipeline[object].initial.clone();
            }
        }
    }

    fn change(&mut self, id: TableId, entry: TableEntry, target: Option<EntryTarget>) -> Result<(), ControlError> {
        let table = self.table(id)?;
        let at = table.find(&entry.matches, entry.priority).ok_or(ControlError::NotFound)?;
        table.entries[at].entry.action = entry.action;
        self.set_target(id, at, target);
        Ok(())
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Constant table, illegal entry, duplicate, full table.
    pub fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), ControlError> {
        self.changeable(table)?;
        check_entry(&self.pipeline, table, &entry)?;
        let target = own_action(&self.pipeline[table], &entry);
        self.add(table, entry, target)
    }

    /// Changes the action of the entry with this match and priority.
    ///
    /// # Errors
    /// Constant table, illegal entry, no such entry.
    pub fn modify(&mut self, table: TableId, entry: TableEntry) -> Result<(), ControlError> {
        self.changeable(table)?;
        check_entry(&self.pipeline, table, &entry)?;
        let target = own_action(&self.pipeline[table], &entry);
        self.change(table, entry, target)
    }

    /// Removes the entry with this match and priority.
    ///
    /// # Errors
    /// Constant table, no such entry.
    pub fn delete(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<(), ControlError> {
        self.changeable(table)?;
        let at = self.table(table)?.find(matches, priority).ok_or(ControlError::NotFound)?;
        self.set_target(table, at, None);
        self.table(table)?.remove(at);
        Ok(())
    }

    /// Removes all entries.
    ///
    /// # Errors
    /// Constant table.
    pub fn clear(&mut self, table: TableId) -> Result<(), ControlError> {
        self.changeable(table)?;
        for at in 0..self.table(table)?.entries.len() {
            self.set_target(table, at, None);
        }
        let state = self.table(table)?;
        (0..state.entries.len()).rev().for_each(|at| state.remove(at));
        Ok(())
    }

    /// Sets the default action; `None` restores the program's.
    ///
    /// # Errors
    /// Constant default action, illegal action.
    pub fn set_default(&mut self, table: TableId, action: Option<ActionCall>) -> Result<(), ControlError> {
        self.table(table)?;
        if self.pipeline[table].const_default_action {
            return Err(ControlError::Constant);
        }
        if let Some(call) = &action {
            check_default(&self.pipeline, table, call)?;
        }
        let call = action.unwrap_or_else(|| self.pipeline[table].default_action.clone());
        self.table(table)?.default_action = call;
        Ok(())
    }

    /// Returns a table's entries in insertion order, with their direct counters. Panics if there is no such table.
    pub fn entries(&self, table: TableId) -> impl Iterator<Item = (&TableEntry, Count)> {
        self.tables[table.index()].entries.iter().map(|stored| (&stored.entry, stored.count))
    }

    /// Replaces the members of a value set.
    ///
    /// # Errors
    /// No such set, too many members, illegal member.
    pub fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), ControlError> {
        let model = self.pipeline.value_sets.get(set.index());
        let model = model.ok_or_else(|| ControlError::Unknown(format!("value set {}", set.0)))?;
        if members.len() as u64 > model.size {
            return Err(ControlError::Full);
        }
        check_members(model, &members)?;
        self.value_sets[set.index()] = members;
        Ok(())
    }

    fn object(&mut self, id: ExternId) -> Result<&mut Object, ControlError> {
        self.objects.get_mut(id.index()).ok_or_else(|| ControlError::Unknown(format!("extern {}", id.0)))
    }

    fn counter_cell(&mut self, id: ExternId, index: u64) -> Result<&mut Count, ControlError> {
        match self.object(id)? {
            Object::Counters(cells) => cell(cells, index),
            _ => Err(ControlError::Unknown("not a counter".into())),
        }
    }

    fn register_cell(&mut self, id: ExternId, index: u64) -> Result<&mut BigUint, ControlError> {
        match self.object(id)? {
            Object::Registers(cells) => cell(cells, index),
            _ => Err(ControlError::Unknown("not a register".into())),
        }
    }

    fn meter_cell(&mut self, id: ExternId, index: u64) -> Result<&mut Option<Meter>, ControlError> {
        match self.object(id)? {
            Object::Meters(cells) => cell(cells, index),
            _ => Err(ControlError::Unknown("not a meter".into())),
        }
    }

    /// Reads one cell of a counter.
    ///
    /// # Errors
    /// Not a counter, index out of range.
    pub fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, ControlError> {
        self.counter_cell(counter, index).copied()
    }

    /// Writes one cell of a counter.
    ///
    /// # Errors
    /// Not a counter, index out of range.
    pub fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), ControlError> {
        *self.counter_cell(counter, index)? = value;
        Ok(())
    }

    /// Reads one register.
    ///
    /// # Errors
    /// Not a register, index out of range.
    pub fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, ControlError> {
        self.register_cell(register, index).cloned()
    }

    /// Writes one register.
    ///
    /// # Errors
    /// Not a register, index out of range, value too wide.
    pub fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), ControlError> {
        self.register_cell(register, index)?;
        if let ExternKind::Register { ty, .. } = &self.pipeline[register].kind {
            let width = ty.width();
            if !bits::fits(&value, width) {
                return Err(ControlError::TooWide { width });
            }
        }
        *self.register_cell(register, index)? = value;
        Ok(())
    }

    fn profile_mut(&mut self, id: ExternId) -> Result<&mut Profile, ControlError> {
        match self.object(id)? {
            Object::Profile(profile) => Ok(profile),
            _ => Err(ControlError::Unknown("not an action profile".into())),
        }
    }

    /// Replaces the target of an entry and updates the profile's reference counts. `to` is `None` if the entry is being
    /// removed.
    fn set_target(&mut self, id: TableId, at: usize, to: Option<EntryTarget>) {
        let Some(profile) = self.pipeline[id].implementation else { return };
        let old = std::mem::replace(&mut self.tables[id.index()].entries[at].target, to.clone());
        if let Ok(profile) = self.profile_mut(profile) {
            old.iter().for_each(|t| profile.count(id, t, false));
            to.iter().for_each(|t| profile.count(id, t, true));
        }
    }

    /// Checks and builds an entry with a target.
    fn entry_to(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        target: &EntryTarget,
    ) -> Result<TableEntry, ControlError> {
        self.changeable(table)?;
        let pipeline = self.pipeline.clone();
        let profile = self.profile_mut(pipeline[table].implementation.ok_or(ProfileError::NoProfile)?)?;
        profile.check_target(&pipeline, table, target)?;
        let first = profile.actions(target).first().map(|(action, _)| (*action).clone());
        let action = first.unwrap_or_else(|| pipeline[table].default_action.clone());
        let entry = TableEntry { matches, priority, action };
        check_keys(&pipeline[table], &entry)?;
        Ok(entry)
    }

    /// Adds an entry whose target is a member, a group or a one-shot action set.
    ///
    /// # Errors
    /// As for [`LinearStore::insert`]; the table has no action profile; there is no such member or group.
    pub fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        target: EntryTarget,
    ) -> Result<(), ControlError> {
        let entry = self.entry_to(table, matches, priority, &target)?;
        self.add(table, entry, Some(target))
    }

    /// Changes the target of an entry.
    ///
    /// # Errors
    /// As for [`LinearStore::insert_target`]; no such entry.
    pub fn modify_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        target: EntryTarget,
    ) -> Result<(), ControlError> {
        let entry = self.entry_to(table, matches, priority, &target)?;
        self.change(table, entry, Some(target))
    }

    /// Adds a member; see [`Profile::insert_member`].
    ///
    /// # Errors
    /// Not a profile; errors of that method.
    pub fn insert_member(&mut self, id: ExternId, member: u32, action: ActionCall) -> Result<(), ControlError> {
        let pipeline = self.pipeline.clone();
        Ok(self.profile_mut(id)?.insert_member(&pipeline, member, action)?)
    }

    /// Changes a member; see [`Profile::modify_member`].
    ///
    /// # Errors
    /// Not a profile; errors of that method.
    pub fn modify_member(&mut self, id: ExternId, member: u32, action: ActionCall) -> Result<(), ControlError> {
        let pipeline = self.pipeline.clone();
        Ok(self.profile_mut(id)?.modify_member(&pipeline, member, action)?)
    }

    /// Removes a member; see [`Profile::delete_member`].
    ///
    /// # Errors
    /// Not a profile; errors of that method.
    pub fn delete_member(&mut self, id: ExternId, member: u32) -> Result<(), ControlError> {
        Ok(self.profile_mut(id)?.delete_member(member)?)
    }

    /// Adds a group; see [`Profile::insert_group`].
    ///
    /// # Errors
    /// Not a profile; errors of that method.
    pub fn insert_group(&mut self, id: ExternId, group: u32, to: Group) -> Result<(), ControlError> {
        Ok(self.profile_mut(id)?.insert_group(group, to)?)
    }

    /// Changes a group; see [`Profile::modify_group`].
    ///
    /// # Errors
    /// Not a profile; errors of that method.
    pub fn modify_group(&mut self, id: ExternId, group: u32, to: Group) -> Result<(), ControlError> {
        let pipeline = self.pipeline.clone();
        Ok(self.profile_mut(id)?.modify_group(&pipeline, group, to)?)
    }

    /// Removes a group; see [`Profile::delete_group`].
    ///
    /// # Errors
    /// Not a profile; errors of that method.
    pub fn delete_group(&mut self, id: ExternId, group: u32) -> Result<(), ControlError> {
        Ok(self.profile_mut(id)?.delete_group(group)?)
    }

    /// Returns a meter's rates; `None` if they are not configured.
    ///
    /// # Errors
    /// Not a meter, index out of range.
    pub fn meter(&mut self, id: ExternId, index: u64) -> Result<Option<Rates>, ControlError> {
        Ok(self.meter_cell(id, index)?.as_ref().map(Meter::rates))
    }

    /// Sets a meter's rates and fills its buckets. Without rates it colours every packet green.
    ///
    /// # Errors
    /// Not a meter, index out of range.
    pub fn set_meter(&mut self, id: ExternId, index: u64, rates: Option<Rates>) -> Result<(), ControlError> {
        *self.meter_cell(id, index)? = rates.map(Meter::new);
        Ok(())
    }

    /// Returns the index of an entry in a table with cells for entries.
    pub fn entry_index(&self, table: TableId, matches: &[MatchValue], priority: i32) -> Option<u32> {
        let state = self.tables.get(table.index())?;
        state.entries[state.find(matches, priority)?].index
    }

    /// Like [`LinearStore::set_meter`], for the direct meter of an entry.
    ///
    /// # Errors
    /// No such table or entry.
    pub fn set_direct_meter(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        rates: Option<Rates>,
    ) -> Result<(), ControlError> {
        let stored = self.table(table)?.find_mut(matches, priority).ok_or(ControlError::NotFound)?;
        stored.meter = rates.map(Meter::new);
        Ok(())
    }
}

impl Store for LinearStore {
    fn visit_entries(&self, table: TableId, visit: &mut dyn FnMut(Entry<'_>)) {
        for Stored { entry, sequence, index, target, .. } in &self.tables[table.index()].entries {
            let TableEntry { matches, priority, action } = entry;
            let (priority, sequence, index) = (*priority, *sequence, *index);
            visit(Entry { matches, priority, sequence, action, index, target: target.as_ref() });
        }
    }

    fn default_action(&self, table: TableId) -> ActionCall {
        self.tables[table.index()].default_action.clone()
    }

    fn count_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, bytes: u64) {
        if let Some(stored) = self.tables[table.index()].find_mut(matches, priority) {
            stored.count.add(bytes);
        }
    }

    fn recount_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, bytes: u64) {
        if let Some(Stored { count, .. }) = self.tables[table.index()].find_mut(matches, priority) {
            count.bytes = count.bytes.wrapping_add(bytes);
        }
    }

    fn measure_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, now_us: u64, cost: u64) -> Color {
        let meter = self.tables[table.index()].find_mut(matches, priority).and_then(|s| s.meter.as_mut());
        meter.map_or(Color::Green, |m| m.execute(now_us, cost))
    }

    fn visit_profile(&self, profile: ExternId, visit: &mut dyn FnMut(&Profile)) {
        if let Some(Object::Profile(profile)) = self.objects.get(profile.index()) {
            visit(profile);
        }
    }

    fn visit_members(&self, set: ValueSetId, visit: &mut dyn FnMut(&[MatchValue])) {
        self.value_sets[set.index()].iter().for_each(|member| visit(member));
    }

    fn count(&mut self, counter: ExternId, index: u64, bytes: u64) {
        if let Ok(cell) = self.counter_cell(counter, index) {
            cell.add(bytes);
        }
    }

    fn measure(&mut self, meter: ExternId, index: u64, now_us: u64, cost: u64) -> Option<Color> {
        let meter = self.meter_cell(meter, index).ok()?;
        Some(meter.as_mut().map_or(Color::Green, |m| m.execute(now_us, cost)))
    }

    fn read_register(&self, register: ExternId, index: u64) -> Option<BigUint> {
        match &self.objects[register.index()] {
            Object::Registers(cells) => cells.get(usize::try_from(index).ok()?).cloned(),
            _ => None,
        }
    }

    fn write_register(&mut self, register: ExternId, index: u64, value: BigUint) {
        if let Ok(cell) = self.register_cell(register, index) {
            *cell = value;
        }
    }

    fn clone_session(&self, session: u32) -> Option<CloneSession> {
        self.traffic.sessions.get(&session).copied()
    }

    fn multicast_group(&self, group: u16) -> Vec<Replica> {
        self.traffic.groups.get(&group).cloned().unwrap_or_default()
    }
}

fn cell<T>(cells: &mut [T], index: u64) -> Result<&mut T, ControlError> {
    let size = cells.len() as u64;
    usize::try_from(index).ok().and_then(|i| cells.get_mut(i)).ok_or(ControlError::Index { size })
}

/// In a table with an action profile, an entry that specifies an action has a one-shot set of that action as its
/// target.
fn own_action(table: &hopwright_ir::Table, entry: &TableEntry) -> Option<EntryTarget> {
    let action = WeightedAction { action: entry.action.clone(), weight: 1 };
    table.implementation.is_some().then(|| EntryTarget::Set(vec![action]))
}
