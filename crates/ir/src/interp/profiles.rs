//! Action profiles and meters at run time: the control plane's access to them, and what packets meet.
//!
//! Does not live here: what profiles and meters are (`crate::profile`, `crate::meter`).

use super::exec::Machine;
use super::store::{Beside, ControlError, Count, ExternState, Store};
use super::{Interp, Value};
use crate::entry::check_keys;
use crate::meter::{Color, Meter, Rates};
use crate::model::{
    ActionCall, EntryTarget, ExternId, ExternKind, Group, MatchValue, Pipeline, TableEntry, TableId, Unit,
};
use crate::profile::{Profile, ProfileError, selector_hash};

impl Store {
    fn profile(&mut self, id: ExternId) -> Result<&mut Profile, ControlError> {
        match self.state(id)? {
            ExternState::Profile(profile) => Ok(profile),
            _ => Err(ControlError::Unknown("not an action profile".into())),
        }
    }

    /// Lets an entry lead elsewhere, or nowhere before it goes.
    pub(super) fn aim(&mut self, pipeline: &Pipeline, id: TableId, at: usize, to: Option<EntryTarget>) {
        let Some(profile) = pipeline[id].implementation else { return };
        let old = std::mem::replace(&mut self.tables[id.index()].beside[at].target, to.clone());
        if let Ok(profile) = self.profile(profile) {
            old.iter().for_each(|t| profile.count(t, false));
            to.iter().for_each(|t| profile.count(t, true));
        }
    }

    fn check_target(
        &mut self,
        pipeline: &Pipeline,
        id: TableId,
        target: &EntryTarget,
    ) -> Result<ActionCall, ControlError> {
        let profile = pipeline[id].implementation.ok_or(ProfileError::NoProfile)?;
        let profile = self.profile(profile)?;
        profile.check_target(pipeline, target)?;
        let first = profile.actions(target).first().map(|(action, _)| (*action).clone());
        Ok(first.unwrap_or_else(|| pipeline[id].default_action.clone()))
    }

    fn meter(&mut self, id: ExternId, index: u64) -> Result<&mut Option<Meter>, ControlError> {
        match self.state(id)? {
            ExternState::Meters(_, cells) => {
                let size = cells.len() as u64;
                cells.get_mut(index as usize).ok_or(ControlError::Index { size })
            }
            _ => Err(ControlError::Unknown("not a meter".into())),
        }
    }

    fn beside(&mut self, id: TableId, matches: &[MatchValue], priority: i32) -> Result<&mut Beside, ControlError> {
        let table = self.table(id)?;
        let found = table.entries.iter().position(|(e, _)| e.matches == matches && e.priority == priority);
        found.map(|at| &mut table.beside[at]).ok_or(ControlError::NotFound)
    }
}

/// The control plane's side.
impl Interp {
    /// Adds an entry that leads to a member, group or set of actions.
    ///
    /// # Errors
    /// As [`Interp::insert`]; the table has no action profile; there is no such member or group.
    pub fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        target: EntryTarget,
    ) -> Result<(), ControlError> {
        let (entry, found) = self.place(table, matches, priority, &target)?;
        if found.is_some() {
            return Err(ControlError::Duplicate);
        }
        let Interp { pipeline, store, .. } = self;
        let state = store.table(table)?;
        if state.entries.len() as u64 >= pipeline[table].size {
            return Err(ControlError::Full);
        }
        state.entries.push((entry, Count::default()));
        state.beside.push(Beside::default());
        let at = state.entries.len() - 1;
        store.aim(pipeline, table, at, Some(target));
        Ok(())
    }

    /// Lets an entry lead elsewhere.
    ///
    /// # Errors
    /// As [`Interp::insert_target`]; no such entry.
    pub fn modify_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        target: EntryTarget,
    ) -> Result<(), ControlError> {
        let (entry, found) = self.place(table, matches, priority, &target)?;
        let at = found.ok_or(ControlError::NotFound)?;
        let Interp { pipeline, store, .. } = self;
        store.table(table)?.entries[at].0.action = entry.action;
        store.aim(pipeline, table, at, Some(target));
        Ok(())
    }

    /// The entry that leads to a target in a table that may be changed, and where it is if it is there.
    fn place(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        target: &EntryTarget,
    ) -> Result<(TableEntry, Option<usize>), ControlError> {
        let Interp { pipeline, store, .. } = self;
        store.changeable(pipeline, table)?;
        let entry = TableEntry { matches, priority, action: store.check_target(pipeline, table, target)? };
        check_keys(&pipeline[table], &entry)?;
        let found = store.position(table, &entry)?;
        Ok((entry, found))
    }

    /// The members and groups of an action profile or selector.
    ///
    /// # Errors
    /// Not a profile.
    pub fn profile(&mut self, id: ExternId) -> Result<&Profile, ControlError> {
        self.store.profile(id).map(|p| &*p)
    }

    /// Adds a member, see [`Profile::insert_member`].
    ///
    /// # Errors
    /// Not a profile, and what that says.
    pub fn insert_member(&mut self, id: ExternId, member: u32, action: ActionCall) -> Result<(), ControlError> {
        Ok(self.store.profile(id)?.insert_member(&self.pipeline, member, action)?)
    }

    /// Changes a member, see [`Profile::modify_member`].
    ///
    /// # Errors
    /// Not a profile, and what that says.
    pub fn modify_member(&mut self, id: ExternId, member: u32, action: ActionCall) -> Result<(), ControlError> {
        Ok(self.store.profile(id)?.modify_member(&self.pipeline, member, action)?)
    }

    /// Removes a member, see [`Profile::delete_member`].
    ///
    /// # Errors
    /// Not a profile, and what that says.
    pub fn delete_member(&mut self, id: ExternId, member: u32) -> Result<(), ControlError> {
        Ok(self.store.profile(id)?.delete_member(member)?)
    }

    /// Adds a group, see [`Profile::insert_group`].
    ///
    /// # Errors
    /// Not a profile, and what that says.
    pub fn insert_group(&mut self, id: ExternId, group: u32, to: Group) -> Result<(), ControlError> {
        Ok(self.store.profile(id)?.insert_group(group, to)?)
    }

    /// Changes a group, see [`Profile::modify_group`].
    ///
    /// # Errors
    /// Not a profile, and what that says.
    pub fn modify_group(&mut self, id: ExternId, group: u32, to: Group) -> Result<(), ControlError> {
        Ok(self.store.profile(id)?.modify_group(group, to)?)
    }

    /// Removes a group, see [`Profile::delete_group`].
    ///
    /// # Errors
    /// Not a profile, and what that says.
    pub fn delete_group(&mut self, id: ExternId, group: u32) -> Result<(), ControlError> {
        Ok(self.store.profile(id)?.delete_group(group)?)
    }

    /// A meter's rates; `None` if it has none.
    ///
    /// # Errors
    /// Not a meter, index out of range.
    pub fn meter(&mut self, id: ExternId, index: u64) -> Result<Option<Rates>, ControlError> {
        Ok(self.store.meter(id, index)?.as_ref().map(Meter::rates))
    }

    /// Sets a meter's rates and fills its buckets; without rates it says green.
    ///
    /// # Errors
    /// Not a meter, index out of range.
    pub fn set_meter(&mut self, id: ExternId, index: u64, rates: Option<Rates>) -> Result<(), ControlError> {
        *self.store.meter(id, index)? = rates.map(Meter::new);
        Ok(())
    }

    /// The same for the direct meter of an entry.
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
        self.store.beside(table, matches, priority)?.meter = rates.map(Meter::new);
        Ok(())
    }
}

/// The packets' side.
impl Machine<'_> {
    /// What a hit runs; `None` where the entry's group has no members.
    pub(super) fn hit_action(&mut self, id: TableId, index: usize, keys: &[Value]) -> Option<ActionCall> {
        let table = &self.pipeline[id];
        let state = &self.store.tables[id.index()];
        let (Some(profile), Some(target)) = (table.implementation, &state.beside[index].target) else {
            return Some(state.entries[index].0.action.clone());
        };
        let ExternState::Profile(book) = &self.store.externs[profile.index()] else { return None };
        book.choose(target, selector_hash(self.pipeline, table, keys.iter().map(|k| &k.bits))).cloned()
    }

    /// Measures the packet with the direct meter of the entry that is hit: what `read` gives.
    pub(super) fn measure_hit(&mut self, id: TableId, index: usize) {
        let Some(object) = self.pipeline[id].direct_meter else { return };
        let ExternKind::DirectMeter { unit, .. } = self.pipeline[object].kind else { return };
        let (now, cost) = (self.now_us, self.cost(unit));
        let meter = &mut self.store.tables[id.index()].beside[index].meter;
        self.color = meter.as_mut().map_or(Color::Green, |m| m.execute(now, cost));
    }

    /// Measures the packet with an indirect meter; `None` beyond the size.
    pub(super) fn measure(&mut self, id: ExternId, index: u64) -> Option<Color> {
        let now = self.now_us;
        let ExternState::Meters(unit, _) = self.store.externs[id.index()] else { return None };
        let cost = self.cost(unit);
        let ExternState::Meters(_, cells) = &mut self.store.externs[id.index()] else { return None };
        let meter = cells.get_mut(usize::try_from(index).ok()?)?;
        Some(meter.as_mut().map_or(Color::Green, |m| m.execute(now, cost)))
    }

    fn cost(&self, unit: Unit) -> u64 {
        if unit == Unit::Packets { 1 } else { self.packet.bytes.len() as u64 }
    }
}
