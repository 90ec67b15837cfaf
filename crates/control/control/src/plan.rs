//! Validates updates against the schema and the state, and plans the changes that they consist of. Nothing is changed here.

use std::time::{Duration, Instant};

use hopwright_dataplane::{Count, EntryTarget, Group, Rates, WeightedAction};
use hopwright_ir::ActionCall;

use crate::change::{Change, Values};
use crate::copies::{FIRST_OF_CLONES, group_of, set_multicast, set_session};
use crate::entity::{
    Action, Call, Cell, CloneSession, DefaultEntry, DigestConfig, Entity, Entry, Metadata, MulticastGroup, Operation,
    Update,
};
use crate::entry::{EntryKey, Idle, Note, Target};
use crate::error::{Result, denied, exhausted, exists, invalid, not_found};
use crate::model::{Model, Plan};
use crate::schema::{self, Profile, Table, Use, object};

impl Model {
    /// Checks an update completely. What depends on how full a table is, or on a device that runs the program, is known when the
    /// update is made.
    ///
    /// # Errors
    /// The object, the field and what was expected.
    pub fn validate(&self, update: &Update) -> Result<()> {
        self.plan(update).map(drop)
    }

    /// Validates an update, and plans the changes that it consists of.
    ///
    /// # Errors
    /// As [`Model::validate`].
    pub fn plan(&self, update: &Update) -> Result<Plan> {
        let operation = update.operation;
        let plan = match &update.entity {
            Entity::Entry(entry) => self.plan_entry(operation, entry),
            Entity::Member { profile, id, action } => self.plan_member(operation, *profile, *id, action.as_ref()),
            Entity::Group { profile, id, members, max_size } => {
                self.plan_group(operation, *profile, *id, members, *max_size)
            }
            Entity::Multicast(id, group) => self.plan_multicast(operation, *id, group),
            Entity::CloneSession(id, session) => self.plan_session(operation, *id, session),
            Entity::Digest(id, config) => self.plan_digest(operation, *id, *config),
            modified => match operation {
                Operation::Modify => self.plan_modified(modified),
                _ => Err(invalid(format!("{} can only be modified", words(modified)))),
            },
        }?;
        self.check_rules(&plan)?;
        Ok(Plan(plan))
    }

    fn plan_modified(&self, entity: &Entity) -> Result<Vec<Change>> {
        let schema = &self.schema;
        Ok(match entity {
            Entity::Default(entry) => self.plan_default(entry)?,
            Entity::DirectCounter(key, count) => {
                let table = schema.table(key.table)?;
                check_direct_counter(table)?;
                vec![Change::DirectCount(table.entry_key(key)?, *count)]
            }
            Entity::DirectMeter(key, rates) => {
                let table = schema.table(key.table)?;
                check_direct_meter(table, *rates)?;
                self.plan_rates(&table.entry_key(key)?, *rates)?.into_iter().collect()
            }
            Entity::Counter(cells, count) => {
                let counter = object(&schema.counters, cells.object, "counter")?;
                vec![Change::Counts(counter.at, Values::Same(counter.range(cells.index)?, *count))]
            }
            Entity::Meter(cells, rates) => {
                let meter = object(&schema.meters, cells.object, "meter")?;
                check_rates(*rates)?;
                vec![Change::Rates(meter.at, Values::Same(meter.range(cells.index)?, *rates))]
            }
            Entity::Register(cells, value) => {
                let register = object(&schema.registers, cells.object, "register")?;
                schema::fits(&register.cells.name, register.ty.width(), value)?;
                let range = register.cells.range(cells.index)?;
                vec![Change::Registers(register.cells.at, Values::Same(range, value.clone()))]
            }
            Entity::EntryRegister { key, register, value } => {
                let register = object(&schema.registers, *register, "register")?;
                schema::fits(&register.cells.name, register.ty.width(), value)?;
                let index = u64::from(self.entry_index(key)?);
                vec![Change::Registers(register.cells.at, Values::Same(index..index + 1, value.clone()))]
            }
            Entity::ValueSet(id, members) => {
                let set = object(&schema.value_sets, *id, "value set")?;
                let members: Result<_> = members.iter().map(|member| set.member(member)).collect();
                vec![Change::ValueSet(set.at, members?)]
            }
            Entity::Setting { object, cell, data } => {
                let at = self.extern_object(*object)?;
                let index = match cell {
                    Cell::Index(index) => *index,
                    Cell::Entry(key) => self.entry_index(key)?.into(),
                };
                vec![Change::Setting(at, format!("cell/{index}"), data.clone())]
            }
            // The others are planned by operation.
            _ => Vec::new(),
        })
    }
}

/// What cannot be inserted or deleted, for messages.
fn words(entity: &Entity) -> &'static str {
    match entity {
        Entity::Default(_) => "a default entry",
        Entity::DirectCounter(..) => "a direct counter",
        Entity::DirectMeter(..) => "a direct meter",
        Entity::Counter(..) => "a counter",
        Entity::Meter(..) => "a meter",
        Entity::Register(..) | Entity::EntryRegister { .. } => "a register",
        Entity::ValueSet(..) => "a value set",
        _ => "this",
    }
}

/// Checks that what an update is about is there, or is not.
fn check(what: impl Fn() -> String, operation: Operation, there: bool) -> Result<()> {
    match (operation, there) {
        (Operation::Insert, true) => Err(exists(format!("there is a {} already", what()))),
        (Operation::Modify | Operation::Delete, false) => Err(not_found(format!("there is no {}", what()))),
        _ => Ok(()),
    }
}

fn check_rates(rates: Option<Rates>) -> Result<()> {
    match rates {
        Some(Rates { cir, pir, .. }) if cir > pir => {
            Err(invalid(format!("the committed rate {cir} is above the peak rate {pir}")))
        }
        _ => Ok(()),
    }
}

fn check_direct_counter(table: &Table) -> Result<()> {
    match table.direct_counter {
        Some(_) => Ok(()),
        None => Err(invalid(format!("table `{}` has no direct counter", table.name))),
    }
}

fn check_direct_meter(table: &Table, rates: Option<Rates>) -> Result<()> {
    match table.direct_meter {
        Some(_) => check_rates(rates),
        None => Err(invalid(format!("table `{}` has no direct meter", table.name))),
    }
}

/// Entries.
impl Model {
    fn plan_entry(&self, operation: Operation, entry: &Entry) -> Result<Vec<Change>> {
        let table = self.schema.table(entry.key.table)?;
        if entry.count.is_some() {
            check_direct_counter(table)?;
        }
        if entry.rates.is_some() {
            check_direct_meter(table, entry.rates)?;
        }
        if !entry.idle_timeout.is_zero() && !table.idle_timeout {
            // The words of BMv2's server, which tests of controllers compare.
            return Err(invalid("idle_timeout_ns must be set to 0 for tables which do not support idle timeout"));
        }
        if table.fields.is_empty() {
            return Err(invalid(format!("table `{}` has no keys: it has a default entry only", table.name)));
        }
        let key = table.entry_key(&entry.key)?;
        match operation {
            Operation::Insert => self.plan_insert(table, entry, key),
            Operation::Modify => self.plan_modify(table, entry, key),
            Operation::Delete => {
                let note = self.notes.contains_key(&key).then(|| Change::Note(key.clone(), None));
                Ok([Change::Remove(key)].into_iter().chain(note).collect())
            }
        }
    }

    fn plan_insert(&self, table: &Table, entry: &Entry, key: EntryKey) -> Result<Vec<Change>> {
        let action = entry.action.as_ref().ok_or_else(|| invalid("an entry needs an action"))?;
        let target = self.entry_target(table, action)?;
        let mut plan = Vec::with_capacity(1);
        if entry.rates.is_some() {
            plan.push(Change::DirectRates(key.clone(), entry.rates));
        }
        if let Some(count) = entry.count {
            plan.push(Change::DirectCount(key.clone(), count));
        }
        if let Some(note) = note(entry, || entry.count.unwrap_or_default().packets) {
            plan.push(Change::Note(key.clone(), Some(note)));
        }
        plan.insert(0, Change::Insert(key, target));
        Ok(plan)
    }

    fn plan_modify(&self, table: &Table, entry: &Entry, key: EntryKey) -> Result<Vec<Change>> {
        let before = self.target(&key).ok_or_else(|| table.no_entry())?;
        if table.const_entries {
            return Err(denied(format!("the entries of table `{}` are constant", table.name)));
        }
        let target = match &entry.action {
            Some(action) => self.entry_target(table, action)?,
            None => before,
        };
        let mut plan = vec![Change::Modify(key.clone(), target)];
        if table.direct_meter.is_some() {
            plan.extend(self.plan_rates(&key, entry.rates)?);
        }
        plan.extend(entry.count.map(|count| Change::DirectCount(key.clone(), count)));
        let hits = || match entry.count {
            Some(Count { packets, .. }) => packets,
            None => self.control()[key.0].hits(&key.1, key.2),
        };
        let note = note(entry, hits);
        if note.is_some() || self.notes.contains_key(&key) {
            plan.push(Change::Note(key, note));
        }
        Ok(plan)
    }

    fn plan_default(&self, entry: &DefaultEntry) -> Result<Vec<Change>> {
        let table = self.schema.table(entry.table)?;
        let call = entry.action.as_ref().map(|call| table.call(call, Use::Default)).transpose()?;
        let metadata = Some(entry.metadata.clone()).filter(|metadata| *metadata != Metadata::default());
        Ok(vec![Change::Default(table.at, call), Change::DefaultMetadata(table.at, metadata)])
    }

    /// The change of an entry's direct meter, unless it has no rates and gets none.
    fn plan_rates(&self, key: &EntryKey, rates: Option<Rates>) -> Result<Option<Change>> {
        let before = self.control()[key.0].direct_meter(&key.1, key.2)?;
        Ok((before.is_some() || rates.is_some()).then(|| Change::DirectRates(key.clone(), rates)))
    }

    /// What an entry runs.
    fn entry_target(&self, table: &Table, action: &Action) -> Result<Target> {
        let name = &table.name;
        let Some(profile) = table.profile.and_then(|id| self.schema.action_profiles.get(&id)) else {
            return match action {
                Action::Call(call) => table.call(call, Use::Entry).map(Target::Action),
                _ => Err(invalid(format!("`{name}` has no action profile"))),
            };
        };
        let target = match action {
            Action::Member(id) => EntryTarget::Member(*id),
            Action::Group(id) if profile.selector => EntryTarget::Group(*id),
            Action::Set(set) if profile.selector || set.len() == 1 => {
                let weighted = |(call, weight): &(Call, u32)| {
                    Ok(WeightedAction { action: table.call(call, Use::Entry)?, weight: check_weight(*weight)? })
                };
                let actions: Vec<WeightedAction> = set.iter().map(weighted).collect::<Result<_>>()?;
                check_size(profile, 0, actions.iter().map(|a| a.weight))?;
                EntryTarget::Set(actions)
            }
            Action::Group(_) | Action::Set(_) => {
                let profile = &profile.name;
                return Err(invalid(format!("`{profile}` is no action selector: entries of `{name}` name a member")));
            }
            Action::Call(_) => {
                let wanted = if profile.selector { "member, group or set of actions" } else { "member" };
                return Err(invalid(format!("entries of `{name}` name a {wanted} of `{}`", profile.name)));
            }
        };
        Ok(Target::Profile(target))
    }
}

/// What is kept of an entry beside what the data plane has, if anything. `hits`: its hits so far.
fn note(entry: &Entry, hits: impl FnOnce() -> u64) -> Option<Note> {
    let timeout = entry.idle_timeout;
    let idle = (timeout > Duration::ZERO).then(|| Idle {
        timeout,
        last_hit: Instant::now(),
        hits: hits(),
        notified: [None; 2],
    });
    let note = Note { metadata: entry.metadata.clone(), idle };
    (note != Note::default()).then_some(note)
}

fn check_weight(weight: u32) -> Result<u32> {
    if weight > 0 { Ok(weight) } else { Err(invalid("a weight must be above zero")) }
}

/// Checks the sum of weights, or the number of members, against the bound of the group or else of the program.
fn check_size(profile: &Profile, request: u32, weights: impl Iterator<Item = u32>) -> Result<()> {
    let most = if request != 0 { request } else { profile.max_group_size };
    if let Some(heaviest) = profile.of_members {
        let (name, weights) = (&profile.name, weights.collect::<Vec<_>>());
        if let Some(weight) = weights.iter().find(|w| heaviest != 0 && **w > heaviest) {
            return Err(invalid(format!("`{name}`: a weight is {weight}, and may be {heaviest}")));
        }
        if most != 0 && weights.len() > most as usize {
            return Err(exhausted(format!("`{name}`: there are {} members, and may be {most}", weights.len())));
        }
        return Ok(());
    }
    let sum: u64 = weights.map(u64::from).sum();
    if most != 0 && sum > u64::from(most) {
        let name = &profile.name;
        return Err(exhausted(format!("`{name}`: the weights are together {sum}, and may be {most}")));
    }
    Ok(())
}

/// Action profiles.
impl Model {
    fn plan_member(&self, operation: Operation, profile: u32, id: u32, action: Option<&Call>) -> Result<Vec<Change>> {
        let profile = object(&self.schema.action_profiles, profile, "action profile")?;
        let there = self.control().profile(profile.at)?.member(id).is_some();
        check(|| format!("member {id} of `{}`", profile.name), operation, there)?;
        let action: Option<ActionCall> = match (operation, action) {
            (Operation::Delete, _) => None,
            // As with entries, an action that is not named stays.
            (Operation::Modify, None) => return Ok(Vec::new()),
            (_, action) => {
                let call = action.ok_or_else(|| invalid("a member needs an action"))?;
                Some(self.schema.member_call(profile, call)?)
            }
        };
        Ok(vec![Change::Member(profile.at, id, action)])
    }

    fn plan_group(
        &self,
        operation: Operation,
        profile: u32,
        id: u32,
        members: &[(u32, u32)],
        max_size: u32,
    ) -> Result<Vec<Change>> {
        let profile = object(&self.schema.action_profiles, profile, "action profile")?;
        if !profile.selector {
            return Err(invalid(format!("`{}` is no action selector: it has no groups", profile.name)));
        }
        let there = self.control().profile(profile.at)?.group(id).is_some();
        check(|| format!("group {id} of `{}`", profile.name), operation, there)?;
        let group = match operation {
            Operation::Delete => None,
            _ => Some(group(profile, members, max_size)?),
        };
        Ok(vec![Change::Group(profile.at, id, group)])
    }
}

fn group(profile: &Profile, members: &[(u32, u32)], max_size: u32) -> Result<Group> {
    if profile.max_group_size != 0 && max_size > profile.max_group_size {
        let most = profile.max_group_size;
        return Err(invalid(format!("groups of `{}` have at most {most} members, not {max_size}", profile.name)));
    }
    let mut group = Group { max_size, counts_members: profile.of_members.is_some(), ..Group::default() };
    for (member, weight) in members {
        if group.members.insert(*member, check_weight(*weight)?).is_some() {
            return Err(invalid(format!("member {member} is there twice")));
        }
    }
    check_size(profile, max_size, group.members.values().copied())?;
    Ok(group)
}

/// Digests.
impl Model {
    fn plan_digest(&self, operation: Operation, id: u32, config: DigestConfig) -> Result<Vec<Change>> {
        self.digests.check_known(id)?;
        match (operation, self.digests.is_on(id)) {
            (Operation::Insert, true) => Err(exists(format!("digest {id:#x} is on already"))),
            (Operation::Modify | Operation::Delete, false) => Err(not_found(format!("digest {id:#x} is not on"))),
            _ => Ok(vec![Change::Digest(id, (operation != Operation::Delete).then_some(config))]),
        }
    }
}

/// Multicast groups and clone sessions.
impl Model {
    fn plan_multicast(&self, operation: Operation, id: u32, group: &MulticastGroup) -> Result<Vec<Change>> {
        if id == 0 || id > u16::MAX.into() {
            return Err(invalid(format!("multicast groups are numbered from 1 to {}", u16::MAX)));
        }
        if self.sessions.keys().any(|session| u32::from(group_of(*session)) == id) {
            return Err(exhausted(format!("a clone session has multicast group {id} for its copies")));
        }
        check(|| format!("multicast group {id}"), operation, self.groups.contains_key(&id))?;
        match operation {
            Operation::Delete => Ok(vec![Change::Multicast(id as u16, None), Change::MulticastRead(id, None)]),
            _ => set_multicast(id, group),
        }
    }

    fn plan_session(&self, operation: Operation, id: u32, session: &CloneSession) -> Result<Vec<Change>> {
        if id >= FIRST_OF_CLONES {
            return Err(invalid(format!("clone sessions are numbered from 0 to {}", FIRST_OF_CLONES - 1)));
        }
        if self.groups.contains_key(&group_of(id).into()) {
            return Err(exhausted(format!("clone session {id} needs multicast group {} for its copies", group_of(id))));
        }
        check(|| format!("clone session {id}"), operation, self.sessions.contains_key(&id))?;
        match operation {
            Operation::Delete => Ok(vec![
                Change::CloneSession(id, None),
                // Without the session, nothing leads to its group.
                Change::Multicast(group_of(id), None),
                Change::CloneSessionRead(id, None),
            ]),
            _ => set_session(id, session),
        }
    }
}
