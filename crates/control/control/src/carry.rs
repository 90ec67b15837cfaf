//! Takes over what fits from an old program to a new one.

use hopwright_dataplane::{EntryTarget, VirtualDataPlane, WeightedAction};
use hopwright_ir::{ActionCall, ExternId, ExternKind, TableEntry, TableId};
use num_bigint::BigUint;

use crate::copies::{set_multicast, set_session};
use crate::entry::{EntryKey, Target};
use crate::model::Model;

/// How much of an old program's state was taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Entries that fit.
    pub kept: usize,
    /// Entries that did not.
    pub lost: usize,
}

impl Model {
    /// Takes over what fits from an old program: entries, default actions, action profiles, counters, meters, registers, multicast
    /// groups, clone sessions. Nothing has been written to this one.
    pub fn carry_over(&mut self, old: &Model) -> Carried {
        let mut carried = Carried::default();
        self.translations.carry(&old.translations);
        carry_profiles(&old.vdp, &self.vdp);
        for (at, model) in old.vdp.pipeline().tables.iter().enumerate() {
            let at = TableId(at as u32);
            match self.vdp.pipeline().tables.iter().position(|t| t.name == model.name) {
                Some(to) => self.carry_table(old, at, TableId(to as u32), &mut carried),
                None if model.const_entries => {}
                None => carried.lost += old.control()[at].len(),
            }
        }
        self.carry_cells(old);
        let groups = old.groups.iter().map(|(id, group)| set_multicast(*id, group));
        let sessions = old.sessions.iter().map(|(id, session)| set_session(*id, session));
        for plan in groups.chain(sessions) {
            if let Err(error) = plan.and_then(|plan| self.carry_out(plan, None)) {
                tracing::warn!("a group of copies does not fit the new program: {error}");
            }
        }
        self.charge_carried_translations();
        self.count_all();
        let wrong = self.settle();
        Carried { kept: carried.kept.saturating_sub(wrong), lost: carried.lost + wrong }
    }

    /// How many table entries controllers have added to those of the program.
    pub fn added_entries(&self) -> usize {
        let tables = self.vdp.pipeline().tables.iter().enumerate().filter(|(_, table)| !table.const_entries);
        tables.map(|(at, table)| self.control()[TableId(at as u32)].len().saturating_sub(table.entries.len())).sum()
    }

    fn carry_table(&mut self, old: &Model, at: TableId, to: TableId, carried: &mut Carried) {
        let (model, into) = (&old.vdp.pipeline()[at], &self.vdp.pipeline()[to]);
        let entries = if model.const_entries { Vec::new() } else { old.control()[at].entries() };
        let same_keys = model.keys.len() == into.keys.len()
            && model.keys.iter().zip(&into.keys).all(|(a, b)| a.name == b.name && a.kind == b.kind);
        for TableEntry { matches, priority, .. } in entries {
            // The program's own entries are in both.
            let is_new = self.control()[to].get(&matches, priority).is_none();
            let (from, key) = ((at, matches.clone(), priority), (to, matches, priority));
            let target = carry_target(old, &from, &self.vdp, to).filter(|_| same_keys);
            if target.is_none_or(|target| self.put(key.clone(), target, is_new).is_err()) {
                carried.lost += 1;
                continue;
            }
            carried.kept += 1;
            if let Ok(Some(rates)) = old.control()[at].direct_meter(&from.1, from.2) {
                let _ = self.control()[to].set_direct_meter(&key.1, key.2, Some(rates));
            }
            self.carry_entry_cells(old, &from, to);
            if let Some(note) = old.notes.get(&from) {
                // Without the memory for it, the entry goes on without.
                let _ = self.set_note(key, Some(note.clone()));
            }
        }
        let default = old.control()[at].default_action();
        if default != model.default_action
            && let Some(call) = call_in(&old.vdp, &default, &self.vdp, to)
        {
            let _ = self.control()[to].set_default(Some(call));
        }
    }

    /// Copies the cells of an entry that are in registers of the same name.
    fn carry_entry_cells(&self, old: &Model, (table, matches, priority): &EntryKey, to: TableId) {
        let index = |model: &Model, table: TableId| model.control()[table].entry_index(matches, *priority);
        let (Some(from), Some(into)) = (index(old, *table), index(self, to)) else { return };
        let pipeline = self.vdp.pipeline();
        for object in &old.vdp.pipeline()[*table].entry_cells {
            let name = &old.vdp.pipeline()[*object].name;
            let there = pipeline[to].entry_cells.iter().any(|object| pipeline[*object].name == *name);
            if let Ok(value) = old.control().register(name).and_then(|r| r.read(from.into()))
                && there
            {
                let _ = self.control().register(name).and_then(|r| r.write(into.into(), value));
            }
        }
    }

    /// Copies counters and registers, except those with cells of entries.
    fn carry_cells(&self, old: &Model) {
        let pipeline = old.vdp.pipeline();
        for (at, object) in pipeline.externs.iter().enumerate() {
            let (at, name) = (ExternId(at as u32), &object.name);
            for (index, count) in old.control().counter(at).map(|c| c.read_all()).into_iter().flatten().enumerate() {
                if count != Default::default() {
                    let _ = self.control().counter(name).and_then(|c| c.write(index as u64, count));
                }
            }
            let of_entries = pipeline.tables.iter().any(|table| table.entry_cells.contains(&at));
            if let (ExternKind::Register { size, .. }, Ok(cells), false) =
                (&object.kind, old.control().register(at), of_entries)
            {
                for index in 0..*size {
                    let Ok(value) = cells.read(index) else { break };
                    if value != BigUint::ZERO {
                        let _ = self.control().register(name).and_then(|r| r.write(index, value));
                    }
                }
            }
        }
    }
}

/// Copies members, groups and meters, as far as they fit.
fn carry_profiles(old: &VirtualDataPlane, new: &VirtualDataPlane) {
    for (at, object) in old.pipeline().externs.iter().enumerate() {
        let at = ExternId(at as u32);
        let to = new.pipeline().externs.iter().position(|e| e.name == object.name);
        let Some(to) = to.map(|to| ExternId(to as u32)) else { continue };
        let tables = new.pipeline().tables.iter().enumerate();
        let users: Vec<TableId> =
            tables.filter(|(_, t)| t.implementation == Some(to)).map(|(i, _)| TableId(i as u32)).collect();
        if let (Ok(from), Ok(profile)) = (old.control().profile(at), new.control().profile(to)) {
            for (id, action) in from.members() {
                if let Some(action) = users.iter().find_map(|user| call_in(old, &action, new, *user)) {
                    let _ = profile.insert_member(id, action);
                }
            }
            for (id, mut group) in from.groups() {
                group.members.retain(|member, _| profile.member(*member).is_some());
                let _ = profile.insert_group(id, group);
            }
        }
        if let (ExternKind::Meter { size, .. }, Ok(from), Ok(meter)) =
            (&object.kind, old.control().meter(at), new.control().meter(to))
        {
            for index in 0..*size {
                if let Ok(Some(rates)) = from.rates(index) {
                    let _ = meter.set_rates(index, Some(rates));
                }
            }
        }
    }
}

/// What an old program's entry runs, in a new program; `None` if it does not fit.
fn carry_target(old: &Model, from: &EntryKey, new: &VirtualDataPlane, to: TableId) -> Option<Target> {
    let call = |call: &ActionCall| call_in(&old.vdp, call, new, to);
    match (old.target(from)?, new.pipeline()[to].implementation) {
        (Target::Action(action), _) => call(&action).map(Target::Action),
        (Target::Profile(EntryTarget::Set(set)), Some(_)) => {
            let action = |a: &WeightedAction| Some(WeightedAction { action: call(&a.action)?, weight: a.weight });
            Some(Target::Profile(EntryTarget::Set(set.iter().map(action).collect::<Option<_>>()?)))
        }
        (target, Some(_)) => Some(target),
        (_, None) => None,
    }
}

/// An action call of one program in a table of another.
fn call_in(from: &VirtualDataPlane, call: &ActionCall, to: &VirtualDataPlane, table: TableId) -> Option<ActionCall> {
    let name = &from.pipeline()[call.action].name;
    let listed = to.pipeline()[table].actions.iter().find(|a| to.pipeline()[a.action].name == *name)?;
    Some(ActionCall { action: listed.action, args: call.args.clone() })
}
