//! The control plane's access to the state.

use std::collections::BTreeMap;

use hopwright_sema::hir::{ObjectId, TableId};
use num_bigint::BigUint;

use crate::Reference;
use crate::entries::{ActionCall, Entries, Entry, Match, Target, action_at, fits};
use crate::meter::{Meter, Rates};
use crate::objects::{Cells, Count, cell_bits, cell_value, is_tofino};
use crate::state::{Replica, Session};
use crate::tofino::REGISTERS;
use crate::value;

/// Why a request of the control plane is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// There is no such thing, or several.
    #[error("there is no {kind} `{name}` here, or several")]
    Unknown {
        /// What was looked for.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A number beyond the cells of an object, or of a member or group that does not exist.
    #[error("`{name}` has nothing with number {index}")]
    Index {
        /// The object.
        name: String,
        /// The number.
        index: u64,
    },
    /// Something with these keys or this number exists already, or is in use.
    #[error("{0} exists already, or is in use")]
    Exists(String),
    /// The program does not let the control plane change this.
    #[error("`{0}` must not be changed")]
    Constant(String),
    /// A value that does not fit its keys or parameters.
    #[error("this does not fit: {0}")]
    Misfit(String),
}

type Result<T> = std::result::Result<T, ControlError>;

fn unknown(kind: &'static str, name: &str) -> ControlError {
    ControlError::Unknown { kind, name: name.into() }
}

/// Requests of the control plane. Tables, objects and value sets are named as the control plane names them.
impl Reference {
    fn table_id(&self, name: &str) -> Result<TableId> {
        let mut found = (0..).map(TableId).zip(&self.program.tables).filter(|(_, t)| t.control_plane_name == name);
        match (found.next(), found.next()) {
            (Some((id, _)), None) => Ok(id),
            _ => Err(unknown("table", name)),
        }
    }

    fn object_id(&self, name: &str) -> Result<ObjectId> {
        let mut found = (0..).map(ObjectId).zip(&self.program.objects).filter(|(_, o)| o.name == name);
        match (found.next(), found.next()) {
            (Some((id, _)), None) => Ok(id),
            _ => Err(unknown("object", name)),
        }
    }

    fn entries(&mut self, name: &str) -> Result<&mut Entries> {
        let id = self.table_id(name)?;
        Ok(&mut self.state.tables[id.0 as usize])
    }

    fn cells(&mut self, name: &str) -> Result<&mut Cells> {
        let id = self.object_id(name)?;
        Ok(&mut self.state.objects[id.0 as usize])
    }

    fn entry(&mut self, table: &str, matches: &[Match], priority: i64) -> Result<&mut Entry> {
        let same = |e: &&mut Entry| e.matches == matches && e.priority == priority;
        let entry = self.entries(table)?.entries.iter_mut().find(same);
        entry.ok_or_else(|| unknown("entry in table", table))
    }

    /// Whether an action call has the data that its action takes.
    fn check(&self, table: TableId, call: &ActionCall) -> Result<()> {
        let action = action_at(&self.program[table], call.action);
        let params = self.program[action.function].params.iter();
        let data = params.filter(|p| p.direction == hopwright_sema::hir::Direction::None);
        let widths: Vec<u32> = data.map(|p| value::width(&self.program, &self.program[p.var].ty)).collect();
        if widths.len() != call.data.len() || !call.data.iter().zip(&widths).all(|(bits, width)| fits(bits, *width)) {
            return Err(ControlError::Misfit(format!("data of action `{}`", self.program[action.function].name)));
        }
        Ok(())
    }

    /// Adds an entry. The higher priority wins; tables without ternary, range and optional keys have none.
    ///
    /// # Errors
    /// If there is no such table, it is constant, an entry has these keys, or something does not fit.
    pub fn insert(&mut self, table: &str, matches: Vec<Match>, priority: i64, target: Target) -> Result<()> {
        let id = self.table_id(table)?;
        let declared = &self.program[id];
        if declared.const_entries {
            return Err(ControlError::Constant(table.into()));
        }
        if declared.keys.len() != matches.len() {
            return Err(ControlError::Misfit(format!("keys of table `{table}`")));
        }
        match &target {
            Target::Action(call) => self.check(id, call)?,
            Target::Set(set) => set.iter().try_for_each(|(call, _)| self.check(id, call))?,
            Target::Member(_) | Target::Group(_) => {}
        }
        if self.entry(table, &matches, priority).is_ok() {
            return Err(ControlError::Exists(format!("an entry of table `{table}` with these keys")));
        }
        self.state.tables[id.0 as usize].entries.push(Entry::new(matches, priority, target));
        Ok(())
    }

    /// Changes a default action.
    ///
    /// # Errors
    /// If there is no such table, the action is constant, or its data do not fit.
    pub fn set_default(&mut self, table: &str, action: ActionCall) -> Result<()> {
        let id = self.table_id(table)?;
        if self.program[id].const_default_action {
            return Err(ControlError::Constant(format!("default action of {table}")));
        }
        self.check(id, &action)?;
        self.state.tables[id.0 as usize].default = action;
        Ok(())
    }

    /// Changes where an entry leads to an action.
    ///
    /// # Errors
    /// If there is no such entry, or something does not fit.
    pub fn modify(&mut self, table: &str, matches: &[Match], priority: i64, action: ActionCall) -> Result<()> {
        self.check(self.table_id(table)?, &action)?;
        self.entry(table, matches, priority)?.target = Target::Action(action);
        Ok(())
    }

    /// Removes all entries of a table.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn clear(&mut self, table: &str) -> Result<()> {
        self.entries(table)?.entries.clear();
        Ok(())
    }

    /// Reads the direct counter of an entry.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn direct_count(&mut self, table: &str, matches: &[Match], priority: i64) -> Result<Count> {
        self.entry(table, matches, priority).map(|entry| entry.count)
    }

    /// Sets or removes the rates of an entry's direct meter.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn set_direct_meter(
        &mut self,
        table: &str,
        matches: &[Match],
        priority: i64,
        rates: Option<Rates>,
    ) -> Result<()> {
        self.entry(table, matches, priority)?.meter = rates.map(Meter::new);
        Ok(())
    }

    /// Reads a counter.
    ///
    /// # Errors
    /// If there is no such counter or cell.
    pub fn count(&mut self, counter: &str, index: u64) -> Result<Count> {
        match self.cells(counter)? {
            Cells::Counter { size, cells } if index < *size => Ok(cells.get(&index).copied().unwrap_or_default()),
            Cells::Counter { .. } => Err(ControlError::Index { name: counter.into(), index }),
            _ => Err(unknown("counter", counter)),
        }
    }

    /// Writes a counter.
    ///
    /// # Errors
    /// If there is no such counter or cell.
    pub fn set_count(&mut self, counter: &str, index: u64, value: Count) -> Result<()> {
        self.count(counter, index)?;
        if let Cells::Counter { cells, .. } = self.cells(counter)? {
            cells.insert(index, value);
        }
        Ok(())
    }

    /// A register of the device with the width of its cells, if the architecture has one of this name.
    fn device_register(&self, name: &str, index: u64) -> Result<Option<(&'static str, u32)>> {
        let known = REGISTERS.iter().find(|(known, ..)| is_tofino(&self.program) && *known == name);
        match known {
            Some((_, size, _)) if index >= *size => Err(ControlError::Index { name: name.into(), index }),
            Some((name, _, width)) => Ok(Some((*name, *width))),
            None => Ok(None),
        }
    }

    /// Reads a register; members of a struct are one number, the first the highest.
    ///
    /// # Errors
    /// If there is no such register or cell.
    pub fn register(&self, register: &str, index: u64) -> Result<BigUint> {
        if let Some((name, _)) = self.device_register(register, index)? {
            return Ok(self.state.device.get(&(name, index)).cloned().unwrap_or_default());
        }
        match &self.state.objects[self.object_id(register)?.0 as usize] {
            Cells::Register { size, ty, initial, cells } if index < *size => {
                Ok(cell_bits(&self.program, ty, cells.get(&index).unwrap_or(initial)))
            }
            Cells::Register { .. } => Err(ControlError::Index { name: register.into(), index }),
            _ => Err(unknown("register", register)),
        }
    }

    /// Writes a register.
    ///
    /// # Errors
    /// If there is no such register or cell, or the number is too large.
    pub fn set_register(&mut self, register: &str, index: u64, number: &BigUint) -> Result<()> {
        if let Some((name, width)) = self.device_register(register, index)? {
            if !fits(number, width) {
                return Err(ControlError::Misfit(format!("a number in `{register}`")));
            }
            self.state.device.insert((name, index), number.clone());
            return Ok(());
        }
        self.register(register, index)?;
        let id = self.object_id(register)?;
        if let Cells::Register { ty, cells, .. } = &mut self.state.objects[id.0 as usize] {
            if !fits(number, value::width(&self.program, ty)) {
                return Err(ControlError::Misfit(format!("a number in `{register}`")));
            }
            cells.insert(index, cell_value(&self.program, ty, number));
        }
        Ok(())
    }

    /// Reads a meter's rates; `None` if it has none.
    ///
    /// # Errors
    /// If there is no such meter or cell.
    pub fn rates(&mut self, meter: &str, index: u64) -> Result<Option<Rates>> {
        match self.cells(meter)? {
            Cells::Meter { size, cells, .. } if index < *size => Ok(cells.get(&index).map(|m| m.rates)),
            Cells::Meter { .. } => Err(ControlError::Index { name: meter.into(), index }),
            _ => Err(unknown("meter", meter)),
        }
    }

    /// Sets or removes a meter's rates.
    ///
    /// # Errors
    /// If there is no such meter or cell.
    pub fn set_rates(&mut self, meter: &str, index: u64, rates: Option<Rates>) -> Result<()> {
        self.rates(meter, index)?;
        if let Cells::Meter { cells, .. } = self.cells(meter)? {
            cells.remove(&index);
            cells.extend(rates.map(|rates| (index, Meter::new(rates))));
        }
        Ok(())
    }

    /// Sets a key of a cipher.
    ///
    /// # Errors
    /// If there is no such object or slot.
    pub fn set_key(&mut self, object: &str, slot: u64, key: [u8; 16]) -> Result<()> {
        match self.cells(object)? {
            Cells::Keys { slots, keys } if slot < *slots => {
                keys.insert(slot, key);
                Ok(())
            }
            Cells::Keys { .. } => Err(ControlError::Index { name: object.into(), index: slot }),
            _ => Err(unknown("object with keys", object)),
        }
    }

    /// Adds or replaces a member of an action profile, or removes it without an action, which is one of a table's.
    ///
    /// # Errors
    /// If there is no such profile or table, or a new member exists already, or an old one does not or is in use.
    pub fn set_member(
        &mut self,
        profile: &str,
        member: u32,
        action: Option<(&str, ActionCall)>,
        new: bool,
    ) -> Result<()> {
        let action = match action {
            Some((table, call)) => {
                let table = self.table_id(table)?;
                self.check(table, &call)?;
                Some((action_at(&self.program[table], call.action).function, call.data))
            }
            None => None,
        };
        let used = self.state.tables.iter().flat_map(|t| &t.entries).any(|e| e.target == Target::Member(member));
        let Cells::Profile { members, groups, .. } = self.cells(profile)? else {
            return Err(unknown("action profile", profile));
        };
        if members.contains_key(&member) == new {
            return Err(if new {
                ControlError::Exists(format!("member {member}"))
            } else {
                ControlError::Index { name: profile.into(), index: member.into() }
            });
        }
        match action {
            Some(action) => {
                members.insert(member, action);
            }
            None if used || groups.values().any(|g| g.contains_key(&member)) => {
                return Err(ControlError::Exists(format!("member {member}")));
            }
            None => {
                members.remove(&member);
            }
        }
        Ok(())
    }

    /// Adds or replaces a group of an action selector, or removes it without members.
    ///
    /// # Errors
    /// If there is no such selector or member, or a new group exists already, or an old one does not.
    pub fn set_group(&mut self, selector: &str, group: u32, to: Option<BTreeMap<u32, u32>>, new: bool) -> Result<()> {
        let Cells::Profile { members, groups, algorithm: Some(_) } = self.cells(selector)? else {
            return Err(unknown("action selector", selector));
        };
        if groups.contains_key(&group) == new {
            return Err(if new {
                ControlError::Exists(format!("group {group}"))
            } else {
                ControlError::Index { name: selector.into(), index: group.into() }
            });
        }
        if let Some(member) = to.iter().flatten().map(|(m, _)| m).find(|m| !members.contains_key(m)) {
            return Err(ControlError::Index { name: selector.into(), index: (*member).into() });
        }
        groups.remove(&group);
        groups.extend(to.map(|to| (group, to)));
        Ok(())
    }

    /// Replaces the members of a value set.
    ///
    /// # Errors
    /// If there is no such value set.
    pub fn set_value_set(&mut self, set: &str, members: Vec<Vec<Match>>) -> Result<()> {
        let at = self.program.value_sets.iter().position(|s| s.name == set).ok_or_else(|| unknown("value set", set))?;
        self.state.value_sets[at].members = members;
        Ok(())
    }

    /// Sets or removes a clone session.
    pub fn set_session(&mut self, session: u32, to: Option<Session>) {
        self.state.sessions.remove(&session);
        self.state.sessions.extend(to.map(|to| (session, to)));
    }

    /// Sets the copies of a multicast group.
    pub fn set_group_copies(&mut self, group: u16, replicas: Vec<Replica>) {
        self.state.groups.insert(group, replicas);
    }
}
