//! Evaluates read requests. `service` sends the result in pieces.

use std::collections::HashMap;
use std::time::Instant;

use ::bytes::Bytes;
use hopwright_control::entity::{Action, Call};
use hopwright_control::schema::{Array, Profile, Schema, Table, object};
use hopwright_control::{EntryKey, Model, Target};
use hopwright_ir::{ActionCall, EntryTarget, MatchValue, WeightedAction};
use num_bigint::BigUint;

use crate::codec::{self, Encode, counted, digest_config, rates, set_metadata};
use crate::failure::{Result, invalid};
use crate::proto::v1;
use v1::entity::Entity;
use v1::packet_replication_engine_entry::Type as Copies;

/// Receives the entities that are found.
type Sink<'a> = &'a mut Vec<Entity>;

/// Evaluates one entity of a request.
///
/// # Errors
/// If the request is invalid.
pub(crate) fn read(model: &Model, asked: &Entity, to: Sink<'_>) -> Result<()> {
    Reader { model, schema: model.schema(), encode: Encode::of(model) }.read(asked, to)
}

/// Some of a table's entries.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePage {
    /// The entries, with their counters if the table has such.
    pub entries: Vec<v1::TableEntry>,
    /// How many entries were accepted.
    pub accepted: usize,
    /// How many entries the table has.
    pub total: usize,
    /// The default entry.
    pub default: v1::TableEntry,
}

/// Reads a page of a table.
pub(crate) fn page(
    model: &Model,
    table: u32,
    fits: Option<&mut dyn FnMut(&v1::TableEntry) -> bool>,
    skip: usize,
    count: usize,
) -> Result<TablePage> {
    let reader = Reader { model, schema: model.schema(), encode: Encode::of(model) };
    let t = reader.schema.table(table)?;
    let keys: Vec<EntryKey> =
        model.control()[t.at].entries().into_iter().map(|e| (t.at, e.matches, e.priority)).collect();
    let total = keys.len();
    let (entries, accepted) = match fits {
        None => (keys.iter().skip(skip).take(count).map(|key| reader.counted_entry(t, key)).collect(), total),
        Some(fits) => {
            let (mut entries, mut accepted) = (Vec::new(), 0);
            for key in &keys {
                let entry = reader.counted_entry(t, key);
                if fits(&entry) {
                    if accepted >= skip && entries.len() < count {
                        entries.push(entry);
                    }
                    accepted += 1;
                }
            }
            (entries, accepted)
        }
    };
    Ok(TablePage { entries, accepted, total, default: reader.default_entry(t) })
}

struct Reader<'m> {
    model: &'m Model,
    schema: &'m Schema,
    encode: Encode<'m>,
}

impl Reader<'_> {
    fn read(&self, asked: &Entity, to: Sink<'_>) -> Result<()> {
        let (schema, control, encode) = (self.schema, self.model.control(), self.encode);
        match asked {
            Entity::TableEntry(asked) => {
                for t in self.tables(asked.table_id)? {
                    match asked.is_default_action {
                        true => to.push(Entity::TableEntry(self.default_entry(t))),
                        false => self.read_table(t, asked, to)?,
                    }
                }
            }
            Entity::DirectCounterEntry(asked) => {
                let has = |t: &Table| t.direct_counter.is_some();
                for (t, key) in self.direct(asked.table_entry.as_ref(), has, "counter")? {
                    let data = Some(counted(control[key.0].direct_count(&key.1, key.2)?));
                    let table_entry = Some(encode.key(t, &key));
                    to.push(Entity::DirectCounterEntry(v1::DirectCounterEntry { table_entry, data }));
                }
            }
            Entity::DirectMeterEntry(asked) => {
                let has = |t: &Table| t.direct_meter.is_some();
                for (t, key) in self.direct(asked.table_entry.as_ref(), has, "meter")? {
                    let config = control[key.0].direct_meter(&key.1, key.2)?.map(rates);
                    let table_entry = Some(encode.key(t, &key));
                    to.push(Entity::DirectMeterEntry(v1::DirectMeterEntry { table_entry, config, counter_data: None }));
                }
            }
            Entity::CounterEntry(asked) => {
                for (id, counter) in objects(&schema.counters, asked.counter_id, "counter")? {
                    let cells = control.counter(counter.at)?;
                    for (index, at) in indices(counter, asked.index.as_ref())? {
                        let data = Some(counted(cells.read(at)?));
                        to.push(Entity::CounterEntry(v1::CounterEntry { counter_id: id, index, data }));
                    }
                }
            }
            Entity::RegisterEntry(asked) => {
                for (id, register) in objects(&schema.registers, asked.register_id, "register")? {
                    let cells = control.register(register.cells.at)?;
                    for (index, at) in indices(&register.cells, asked.index.as_ref())? {
                        let data = Some(encode.data(register, &cells.read(at)?));
                        to.push(Entity::RegisterEntry(v1::RegisterEntry { register_id: id, index, data }));
                    }
                }
            }
            Entity::MeterEntry(asked) => {
                for (id, meter) in objects(&schema.meters, asked.meter_id, "meter")? {
                    let cells = control.meter(meter.at)?;
                    for (index, at) in indices(meter, asked.index.as_ref())? {
                        let config = cells.rates(at)?.map(rates);
                        to.push(Entity::MeterEntry(v1::MeterEntry { meter_id: id, index, config, counter_data: None }));
                    }
                }
            }
            Entity::ActionProfileMember(asked) => self.read_members(asked, to)?,
            Entity::ActionProfileGroup(asked) => self.read_groups(asked, to)?,
            Entity::PacketReplicationEngineEntry(asked) => self.read_replication(asked, to),
            Entity::ValueSetEntry(asked) => {
                for (id, set) in objects(&schema.value_sets, asked.value_set_id, "value set")? {
                    let members = control.value_set(set.at)?.read();
                    let member = |m: &Vec<MatchValue>| v1::ValueSetMember { r#match: encode.matches(&set.fields, m) };
                    let members = members.iter().map(member).collect();
                    to.push(Entity::ValueSetEntry(v1::ValueSetEntry { value_set_id: id, members }));
                }
            }
            Entity::DigestEntry(asked) => {
                if asked.digest_id != 0 {
                    self.model.digests().check_known(asked.digest_id)?;
                }
                for (digest_id, config) in self.model.digests().configs() {
                    if asked.digest_id == 0 || asked.digest_id == digest_id {
                        let config = Some(digest_config(config));
                        to.push(Entity::DigestEntry(v1::DigestEntry { digest_id, config }));
                    }
                }
            }
            Entity::ExternEntry(_) => {}
        }
        Ok(())
    }

    /// The table with this id, or all of them in order if it is zero.
    fn tables(&self, id: u32) -> Result<Vec<&Table>> {
        match id {
            0 => Ok(self.schema.ordered_tables().collect()),
            id => Ok(vec![self.schema.table(id)?]),
        }
    }

    fn default_entry(&self, t: &Table) -> v1::TableEntry {
        let default = Target::Action(self.model.control()[t.at].default_action());
        let action = self.encode.target(t, &default);
        let mut entry = v1::TableEntry { table_id: t.id, action, is_default_action: true, ..Default::default() };
        if let Some(metadata) = self.model.default_metadata(t.at) {
            set_metadata(&mut entry, metadata);
        }
        entry
    }

    /// An entry with its counter.
    fn counted_entry(&self, t: &Table, key: &EntryKey) -> v1::TableEntry {
        let mut entry = self.encode.key(t, key);
        entry.is_const = t.const_entries;
        entry.action = self.model.target(key).and_then(|target| self.encode.target(t, &target));
        if t.direct_counter.is_some() {
            entry.counter_data = self.model.control()[t.at].direct_count(&key.1, key.2).ok().map(counted);
        }
        entry
    }

    fn read_table(&self, t: &Table, asked: &v1::TableEntry, to: Sink<'_>) -> Result<()> {
        let Some(filter) = self.filter(t, asked)? else { return Ok(()) };
        let (now, table) = (Instant::now(), &self.model.control()[t.at]);
        for key in self.keys(t, &filter) {
            let mut entry = self.encode.key(t, &key);
            entry.is_const = t.const_entries;
            let target = self.model.target(&key);
            entry.action = target.as_ref().and_then(|target| self.encode.target(t, target));
            if asked.meter_config.is_some() && t.direct_meter.is_some() {
                entry.meter_config = table.direct_meter(&key.1, key.2)?.map(rates);
            }
            if asked.counter_data.is_some() && t.direct_counter.is_some() {
                entry.counter_data = table.direct_count(&key.1, key.2).ok().map(counted);
            }
            if let Some(note) = self.model.note(&key) {
                set_metadata(&mut entry, &note.metadata);
                if let Some(idle) = &note.idle {
                    entry.idle_timeout_ns = idle.timeout.as_nanos() as i64;
                    if asked.time_since_last_hit.is_some() {
                        let hit_since = table.hits(&key.1, key.2) != idle.hits;
                        let elapsed = if hit_since { 0 } else { now.duration_since(idle.last_hit).as_nanos() as i64 };
                        entry.time_since_last_hit = Some(v1::table_entry::IdleTimeout { elapsed_ns: elapsed });
                    }
                }
            }
            if filter.fits(t, &entry, target.as_ref()) {
                to.push(Entity::TableEntry(entry));
            }
        }
        Ok(())
    }

    /// The entries that a request for direct resources asks for.
    fn direct(
        &self,
        asked: Option<&v1::TableEntry>,
        has: impl Fn(&Table) -> bool,
        what: &str,
    ) -> Result<Vec<(&Table, EntryKey)>> {
        let none = v1::TableEntry::default();
        let asked = asked.unwrap_or(&none);
        let mut found = Vec::new();
        for t in self.tables(asked.table_id)? {
            match has(t) {
                true => {
                    let filter = self.filter(t, asked)?;
                    found.extend(filter.iter().flat_map(|filter| self.keys(t, filter)).map(|key| (t, key)));
                }
                false if asked.table_id == 0 => {}
                false => return Err(invalid(format!("table `{}` has no direct {what}", t.name))),
            }
        }
        Ok(found)
    }

    /// The filter of a request for entries of a table; `None` if it names a value that nothing has.
    fn filter(&self, t: &Table, asked: &v1::TableEntry) -> Result<Option<Filter>> {
        let matches = match asked.r#match.as_slice() {
            [] => None,
            given => {
                let fields = self.model.look_up(|schema, translate| codec::fields(schema, translate, t, given))?;
                let Some(fields) = fields else { return Ok(None) };
                Some(t.matches(&canonical(t, fields))?)
            }
        };
        let action = match &asked.action {
            None => None,
            Some(asked) => {
                let action = self.model.look_up(|schema, translate| codec::action(schema, translate, asked))?;
                let Some(action) = action else { return Ok(None) };
                Some(action)
            }
        };
        Ok(Some(Filter {
            matches,
            priority: asked.priority,
            action,
            controller_metadata: asked.controller_metadata,
            metadata: asked.metadata.clone(),
        }))
    }

    /// The entries whose keys pass a filter, in order.
    fn keys(&self, t: &Table, filter: &Filter) -> Vec<EntryKey> {
        let table = &self.model.control()[t.at];
        if let Some(matches) = &filter.matches
            && (!t.priority || filter.priority != 0)
        {
            let there = table.get(matches, filter.priority).is_some();
            return there.then(|| (t.at, matches.clone(), filter.priority)).into_iter().collect();
        }
        let entries = table.entries().into_iter();
        let entries = entries.filter(|e| {
            filter.matches.as_ref().is_none_or(|m| *m == e.matches)
                && (filter.priority == 0 || filter.priority == e.priority)
        });
        entries.map(|e| (t.at, e.matches, e.priority)).collect()
    }

    fn read_members(&self, asked: &v1::ActionProfileMember, to: Sink<'_>) -> Result<()> {
        for (action_profile_id, profile) in self.profiles(asked.action_profile_id)? {
            let Some(t) = profile.tables.first().and_then(|id| self.schema.tables.get(id)) else { continue };
            for (member_id, action) in self.model.control().profile(profile.at)?.members() {
                if asked.member_id == 0 || asked.member_id == member_id {
                    let action = self.encode.call(t, &action);
                    let member = v1::ActionProfileMember { action_profile_id, member_id, action };
                    to.push(Entity::ActionProfileMember(member));
                }
            }
        }
        Ok(())
    }

    fn read_groups(&self, asked: &v1::ActionProfileGroup, to: Sink<'_>) -> Result<()> {
        for (action_profile_id, profile) in self.profiles(asked.action_profile_id)? {
            for (group_id, group) in self.model.control().profile(profile.at)?.groups() {
                if asked.group_id == 0 || asked.group_id == group_id {
                    let member = |(id, weight): (&u32, &u32)| v1::action_profile_group::Member {
                        member_id: *id,
                        weight: *weight as i32,
                        ..Default::default()
                    };
                    to.push(Entity::ActionProfileGroup(v1::ActionProfileGroup {
                        action_profile_id,
                        group_id,
                        members: group.members.iter().map(member).collect(),
                        max_size: group.max_size as i32,
                    }));
                }
            }
        }
        Ok(())
    }

    fn profiles(&self, id: u32) -> Result<Vec<(u32, &Profile)>> {
        objects(&self.schema.action_profiles, id, "action profile")
    }

    fn read_replication(&self, asked: &v1::PacketReplicationEngineEntry, to: Sink<'_>) {
        let wanted = |asked: u32, id: u32| asked == 0 || asked == id;
        let (groups, sessions) = match asked.r#type.as_ref() {
            Some(Copies::MulticastGroupEntry(asked)) => (Some(asked.multicast_group_id), None),
            Some(Copies::CloneSessionEntry(asked)) => (None, Some(asked.session_id)),
            None => (Some(0), Some(0)),
        };
        let all =
            self.model.multicast_groups().iter().filter(|(id, _)| groups.is_some_and(|asked| wanted(asked, **id)));
        let groups = all.map(|(id, group)| self.encode.multicast(*id, group));
        let all =
            self.model.clone_sessions().iter().filter(|(id, _)| sessions.is_some_and(|asked| wanted(asked, **id)));
        let group = |id: u16| self.model.multicast_groups().get(&id.into());
        let sessions = all.map(|(id, session)| self.encode.session(*id, session, session.group.and_then(group)));
        let wrap = |kind| Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(kind) });
        to.extend(groups.chain(sessions).map(wrap));
    }
}

/// The object with this id, or all of them in order if it is zero.
fn objects<'s, T: hopwright_control::schema::Named>(
    all: &'s HashMap<u32, T>,
    id: u32,
    what: &str,
) -> Result<Vec<(u32, &'s T)>> {
    if id != 0 {
        return Ok(vec![(id, object(all, id, what)?)]);
    }
    let mut all: Vec<_> = all.iter().map(|(id, object)| (*id, object)).collect();
    all.sort_unstable_by_key(|(id, _)| *id);
    Ok(all)
}

/// The cells that an index denotes: all of them without an index. Each with its index as a message.
fn indices(array: &Array, index: Option<&v1::Index>) -> Result<impl Iterator<Item = (Option<v1::Index>, u64)>> {
    let range = array.range(codec::index(index)?)?;
    Ok(range.map(|at| (Some(v1::Index { index: at as i64 }), at)))
}

/// The filter of a read in a table: fields that are set must be equal.
struct Filter {
    matches: Option<Vec<MatchValue>>,
    priority: i32,
    action: Option<Action>,
    controller_metadata: u64,
    metadata: Bytes,
}

impl Filter {
    /// Whether an entry, whose keys pass the filter, passes the rest of it.
    fn fits(&self, t: &Table, entry: &v1::TableEntry, target: Option<&Target>) -> bool {
        self.action.as_ref().is_none_or(|wanted| target.is_some_and(|found| runs(t, wanted, found)))
            && (self.controller_metadata == 0 || self.controller_metadata == entry.controller_metadata)
            && (self.metadata.is_empty() || self.metadata == entry.metadata)
    }
}

/// Match fields as entries have them: without bits that do not matter, and without fields that match anything.
fn canonical(t: &Table, fields: Vec<(u32, MatchValue)>) -> Vec<(u32, MatchValue)> {
    let one = |(id, value): (u32, MatchValue)| {
        let value = match value {
            MatchValue::Lpm { prefix_len: 0, .. } => return None,
            MatchValue::Lpm { value, prefix_len } => {
                let width = t.fields.iter().find(|field| field.id == id).map_or(0, |field| field.width);
                let below = width.saturating_sub(prefix_len);
                MatchValue::Lpm { value: value >> below << below, prefix_len }
            }
            MatchValue::Ternary { mask, .. } if mask == BigUint::ZERO => return None,
            MatchValue::Ternary { value, mask } => MatchValue::Ternary { value: value & &mask, mask },
            other => other,
        };
        Some((id, value))
    };
    fields.into_iter().filter_map(one).collect()
}

/// Whether an entry runs what a filter asks for.
fn runs(t: &Table, wanted: &Action, found: &Target) -> bool {
    match (wanted, found) {
        (Action::Call(wanted), Target::Action(found)) => calls(t, wanted, found),
        (Action::Member(wanted), Target::Profile(EntryTarget::Member(found))) => wanted == found,
        (Action::Group(wanted), Target::Profile(EntryTarget::Group(found))) => wanted == found,
        (Action::Set(wanted), Target::Profile(EntryTarget::Set(found))) => {
            let same = |((call, weight), found): (&(Call, u32), &WeightedAction)| {
                *weight == found.weight && calls(t, call, &found.action)
            };
            wanted.len() == found.len() && wanted.iter().zip(found).all(same)
        }
        _ => false,
    }
}

/// An action without parameters selects the action with any arguments.
fn calls(t: &Table, wanted: &Call, found: &ActionCall) -> bool {
    let Ok(action) = t.action(wanted.action) else { return false };
    let same = |(id, value): &(u32, BigUint)| {
        let at = action.params.iter().position(|param| param.id == *id);
        at.and_then(|at| found.args.get(at)) == Some(value)
    };
    action.at == found.action && wanted.args.iter().all(same)
}
