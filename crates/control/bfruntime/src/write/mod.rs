//! Turns the updates of a write into P4Runtime updates and changes of the [`State`].

mod filters;
mod generators;
mod multicast;
mod objects;
mod ports;

pub(crate) use filters::cell_of;
pub(crate) use generators::{BUFFER, buffered, data_of, place};
pub(crate) use objects::{rates_of, value_set};

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hopwright_dataplane::{PortSet, Stream, StreamCounts};
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Device, Write};
use num_bigint::BigUint;
use v1::field_match::{self as wire, FieldMatchType};
use v1::update::Type;

use crate::failure::{Result, invalid, not_found, unimplemented};
use crate::proto::{self, key_field::MatchType, table_entry, update};
use crate::schema::{Field, Key, Matching, Object, Schema, Table, Ty, field};
use crate::state::{Change, PIPES, State};
use crate::value::{self, Data, number, small};

/// Highest priority of P4Runtime that an entry gets: that of BfRuntime's priority 0, which wins over larger numbers.
const HIGHEST: i32 = 1 << 30;

/// What an update changes.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub updates: Vec<v1::Update>,
    pub changes: Vec<Change>,
    /// Cells that are set after the updates.
    pub cells: Vec<Write>,
    /// What cannot fail and is done last.
    pub counts: Vec<Counting>,
    /// Packet generators that begin anew then.
    pub generators: Streams,
}

/// What packet generators make, if anything, by their numbers.
pub(crate) type Streams = BTreeMap<u8, Option<Box<Stream>>>;

/// What packet generators count, to be set.
#[derive(Debug)]
pub(crate) enum Counting {
    /// Counts of an application.
    Counts(Arc<StreamCounts>, [Option<u64>; 3]),
    /// A port that triggers packet generators again when it loses its link.
    PortDown(Arc<PortSet>, u32),
}

impl Counting {
    pub(crate) fn set(self) {
        match self {
            Counting::PortDown(down, port) => down.remove(port),
            Counting::Counts(counts, values) => {
                let cells = [&counts.triggers, &counts.batches, &counts.packets];
                let set = |(cell, value): (&AtomicU64, Option<u64>)| {
                    value.into_iter().for_each(|value| cell.store(value, Ordering::Relaxed));
                };
                cells.into_iter().zip(values).for_each(set);
            }
        }
    }
}

impl Effects {
    fn update(kind: Type, entity: v1::entity::Entity) -> Effects {
        Effects::new(vec![v1_update(kind, entity)], Vec::new())
    }

    fn new(updates: Vec<v1::Update>, changes: Vec<Change>) -> Effects {
        Effects { updates, changes, ..Effects::default() }
    }
}

pub(crate) fn v1_update(kind: Type, entity: v1::entity::Entity) -> v1::Update {
    v1::Update { r#type: kind as i32, entity: Some(v1::Entity { entity: Some(entity) }) }
}

/// What an update means for a device in this state, and for this pipe if the table is one of each pipe.
///
/// # Errors
/// If it is invalid, or not supported.
pub(crate) fn effects(state: &State, device: &Device, pipe: u32, update: &proto::Update) -> Result<Effects> {
    use proto::entity::Entity;
    let kind = update::Type::try_from(update.r#type).unwrap_or(update::Type::Unspecified);
    let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
    match entity.ok_or_else(|| invalid("the update has no entity"))? {
        Entity::TableEntry(entry) => {
            let table = table(&state.schema, entry.table_id)?;
            if let Some(table_entry::Value::HandleId(_)) = entry.value {
                return Err(unimplemented("entries are found by their keys only, not by handles"));
            }
            let request = Request { state, device, table, kind, entry, pipe };
            match table.object {
                Object::Match { .. } => request.match_entry(),
                Object::Members => request.member(),
                Object::Groups { profile } => request.members_group(profile),
                Object::Counter => request.counter(),
                Object::Meter(unit) => request.meter(unit),
                Object::Register => request.register(),
                Object::Filter(kind) => request.filter(kind),
                Object::PortMetadata { register } => request.port_metadata(register),
                Object::MulticastNodes => request.node(),
                Object::MulticastGroups => request.multicast_group(),
                Object::MulticastLags => request.lag(),
                Object::MulticastEcmps => request.ecmp(),
                Object::Pruning => request.pruning(),
                Object::CpuPort => request.cpu_port(),
                Object::ValueSet => request.value_set(),
                Object::Mirror => request.session(),
                Object::Ports => request.port(),
                Object::Applications => request.application(),
                Object::PacketBuffer => request.packet_buffer(),
                Object::GeneratorPorts => request.generator_port(),
                Object::PortCounts => Err(request.unsupported()),
            }
        }
        Entity::TableOperation(operation) => {
            // Counters and registers are always up to date.
            table(&state.schema, operation.table_id)?;
            match operation.table_operations_type.as_str() {
                "SyncCounters" | "SyncRegisters" | "Sync" => Ok(Effects::default()),
                other => Err(unimplemented(format!("the operation `{other}` is not supported"))),
            }
        }
        Entity::TableAttribute(_) => Err(unimplemented("attributes of tables are not supported")),
        Entity::TableUsage(_) | Entity::ObjectId(_) | Entity::Handle(_) => {
            Err(invalid("this can be read, not written"))
        }
    }
}

/// A table of the schema.
pub(crate) fn table(schema: &Schema, id: u32) -> Result<&Table> {
    schema.table(id).ok_or_else(|| not_found(format!("there is no table with id {id}")))
}

/// A write of an entry.
struct Request<'r> {
    state: &'r State,
    device: &'r Device,
    table: &'r Table,
    kind: update::Type,
    entry: &'r proto::TableEntry,
    pipe: u32,
}

/// All pipes, as the number of a pipe.
pub(crate) const ALL_PIPES: u32 = 0xffff;

/// The pipes that a number stands for.
///
/// # Errors
/// If there is no such pipe.
pub(crate) fn pipes(number: u32) -> Result<Range<u8>> {
    match number {
        ALL_PIPES => Ok(0..PIPES as u8),
        pipe if pipe < PIPES as u32 => Ok(pipe as u8..pipe as u8 + 1),
        pipe => Err(invalid(format!("there is no pipe {pipe}"))),
    }
}

impl<'r> Request<'r> {
    fn key_fields(&self) -> &'r [proto::KeyField] {
        key_fields(self.entry)
    }

    /// The entry's data, of fields that the table has whatever the action.
    fn data(&self) -> Result<Data<'r>> {
        Data::new(self.entry.data.as_ref(), self.table.data.iter(), &self.table.name)
    }

    /// Those of them that the request gives, as they are kept.
    fn kept(&self) -> Result<Vec<proto::DataField>> {
        self.data()?;
        self.kept_of(&self.table.data)
    }

    /// What the request gives of these fields, as it is kept.
    fn kept_of(&self, fields: &[Field]) -> Result<Vec<proto::DataField>> {
        let given = self.entry.data.iter().flat_map(|data| &data.fields);
        given.filter_map(|f| fields.iter().find(|k| k.id == f.field_id).map(|k| value::kept(k, f))).collect()
    }

    fn unsupported(&self) -> hopwright_p4runtime::Failure {
        let kind = self.kind.as_str_name();
        unimplemented(format!("{kind} is not supported in `{}`", self.table.name))
    }

    fn match_entry(&self) -> Result<Effects> {
        use update::Type as Kind;
        if self.entry.is_default_entry {
            return self.default_entry();
        }
        if self.kind == Kind::Delete && self.key_fields().is_empty() && !self.table.keys.is_empty() {
            return self.delete_all();
        }
        let mut entry = self.keyed()?;
        let kind = match self.kind {
            Kind::Insert => Type::Insert,
            Kind::Modify => Type::Modify,
            Kind::InsertOrModify => match self.current(&entry)? {
                Some(_) => Type::Modify,
                None => Type::Insert,
            },
            Kind::Delete => {
                let changes = self.without_filters(&entry);
                return Ok(Effects { changes, ..Effects::update(Type::Delete, v1::entity::Entity::TableEntry(entry)) });
            }
            _ => return Err(self.unsupported()),
        };
        self.fill(&mut entry)?;
        if kind == Type::Modify
            && let Object::Match { meter: Some(_), .. } = self.table.object
            && entry.meter_config.is_none()
        {
            // P4Runtime resets the meter of an entry that is modified without one.
            entry.meter_config = self.current(&entry)?.and_then(|e| e.meter_config);
        }
        let mut cells = self.cells(&entry)?;
        let changes = self.filters_of_entry(kind, &entry, &mut cells)?;
        Ok(Effects { changes, cells, ..Effects::update(kind, v1::entity::Entity::TableEntry(entry)) })
    }

    fn default_entry(&self) -> Result<Effects> {
        use update::Type as Kind;
        let mut entry = v1::TableEntry { table_id: self.table.id, is_default_action: true, ..Default::default() };
        match self.kind {
            Kind::Insert | Kind::Modify | Kind::InsertOrModify => self.fill(&mut entry)?,
            Kind::Delete | Kind::Reset => {}
            _ => return Err(self.unsupported()),
        }
        (entry.counter_data, entry.meter_config) = (None, None);
        Ok(Effects::update(Type::Modify, v1::entity::Entity::TableEntry(entry)))
    }

    fn delete_all(&self) -> Result<Effects> {
        let all = v1::TableEntry { table_id: self.table.id, ..Default::default() };
        let mut effects = Effects::default();
        for found in self.device.read_entity(&v1::entity::Entity::TableEntry(all))? {
            if let v1::entity::Entity::TableEntry(entry) = found
                && !entry.is_const
            {
                effects.changes.extend(self.without_filters(&entry));
                effects.updates.push(v1_update(Type::Delete, v1::entity::Entity::TableEntry(entry)));
            }
        }
        Ok(effects)
    }

    /// The entry's keys and priority.
    fn keyed(&self) -> Result<v1::TableEntry> {
        keyed(self.table, self.key_fields())
    }

    /// The entry as it is, if it is there.
    fn current(&self, entry: &v1::TableEntry) -> Result<Option<v1::TableEntry>> {
        current(self.device, entry)
    }

    /// The action of a new entry that names none: the only one that entries may have, if it has no parameters.
    fn only_action(&self) -> Option<v1::Action> {
        use proto::update::Type as Kind;
        let mut actions = self.table.actions.iter().filter(|a| a.scope != "DefaultOnly");
        match (self.kind, actions.next(), actions.next()) {
            (Kind::Insert, Some(only), None) if only.data.is_empty() => {
                Some(v1::Action { action_id: only.id, params: Vec::new() })
            }
            _ => None,
        }
    }

    /// Gives an entry its action, and its counter and meter if the request has them.
    fn fill(&self, entry: &mut v1::TableEntry) -> Result<()> {
        use v1::table_action::Type as Runs;
        let data = self.entry.data.as_ref();
        let action_id = data.map_or(0, |d| d.action_id);
        let action = match action_id {
            0 => None,
            id => Some(
                self.table
                    .actions
                    .iter()
                    .find(|a| a.id == id)
                    .ok_or_else(|| invalid(format!("`{}` has no action with id {id}", self.table.name)))?,
            ),
        };
        let known = action.into_iter().flat_map(|a| &a.data).chain(&self.table.data);
        let values = Data::new(data, known, &self.table.name)?;
        let member = values.small(field::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", 32)?;
        let group = values.small(field::SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID", 32)?;
        let runs = match (action, member, group) {
            (Some(action), None, None) => {
                let params = action.data.iter().map(|f| param(&values, f)).collect::<Result<_>>()?;
                Some(Runs::Action(v1::Action { action_id: action.id, params }))
            }
            (None, Some(member), None) => Some(Runs::ActionProfileMemberId(member as u32)),
            (None, None, Some(group)) => Some(Runs::ActionProfileGroupId(group as u32)),
            (None, None, None) => self.only_action().map(Runs::Action),
            _ => return Err(invalid("an entry has one action, member or group")),
        };
        entry.action = runs.map(|r#type| v1::TableAction { r#type: Some(r#type) });
        if let Object::Match { counter, meter, .. } = self.table.object {
            let counted = values.has(field::COUNTER_BYTES) || values.has(field::COUNTER_PACKETS);
            if counter && counted {
                let before = self.current(entry)?.and_then(|e| e.counter_data).unwrap_or_default();
                entry.counter_data = Some(objects::count(&values, before)?);
            }
            if let Some(unit) = meter {
                entry.meter_config = objects::rates(&values, unit)?;
            }
        }
        Ok(())
    }
}

/// A parameter of an action.
fn param(values: &Data<'_>, field: &Field) -> Result<v1::action::Param> {
    let value = values.number(field)?.ok_or_else(|| invalid(format!("`{}` is missing", field.name)))?;
    Ok(v1::action::Param { param_id: field.id, value: value.to_bytes_be().into() })
}

/// The entry with the same keys, with its counter and meter, if it is there.
fn current(device: &Device, entry: &v1::TableEntry) -> Result<Option<v1::TableEntry>> {
    let wanted = v1::TableEntry {
        action: None,
        counter_data: Some(v1::CounterData::default()),
        meter_config: Some(v1::MeterConfig::default()),
        ..entry.clone()
    };
    let found = device.read_entity(&v1::entity::Entity::TableEntry(wanted))?;
    Ok(found.into_iter().find_map(|e| match e {
        v1::entity::Entity::TableEntry(found) => {
            (found.r#match == entry.r#match && found.priority == entry.priority).then_some(found)
        }
        _ => None,
    }))
}

/// The fields of a request's key.
pub(crate) fn key_fields(entry: &proto::TableEntry) -> &[proto::KeyField] {
    match &entry.value {
        Some(table_entry::Value::Key(key)) => &key.fields,
        _ => &[],
    }
}

/// An entry with these keys: of fields that are not there and need no value, anything matches.
pub(crate) fn keyed(table: &Table, fields: &[proto::KeyField]) -> Result<v1::TableEntry> {
    let mut entry = v1::TableEntry { table_id: table.id, ..Default::default() };
    let has_priority = table.keys.iter().any(|k| k.id == field::MATCH_PRIORITY);
    if has_priority {
        entry.priority = HIGHEST;
    }
    for (at, field) in fields.iter().enumerate() {
        let key = table.keys.iter().find(|k| k.id == field.field_id);
        let key = key.ok_or_else(|| invalid(format!("`{}` has no key field {}", table.name, field.field_id)))?;
        if fields[..at].iter().any(|f| f.field_id == field.field_id) {
            return Err(invalid(format!("`{}` is there twice", key.name)));
        }
        let matches = field.match_type.as_ref().ok_or_else(|| invalid(format!("`{}`: no match", key.name)))?;
        if key.id == field::MATCH_PRIORITY {
            let priority = match matches {
                MatchType::Exact(m) => small(&key.name, 32, &m.value)?,
                _ => return Err(invalid("$MATCH_PRIORITY is a number")),
            };
            let given = i32::try_from(priority).ok().filter(|p| *p < HIGHEST);
            let given = given.ok_or_else(|| invalid(format!("$MATCH_PRIORITY is less than {HIGHEST}")))?;
            entry.priority = HIGHEST - given;
            continue;
        }
        if let Some(kind) = key_match(key, matches)? {
            entry.r#match.push(v1::FieldMatch { field_id: key.id, field_match_type: Some(kind) });
        }
    }
    // The order of P4Info, in which they are read.
    let place = |id: u32| table.keys.iter().position(|k| k.id == id);
    entry.r#match.sort_by_key(|m| place(m.field_id));
    Ok(entry)
}

/// BfRuntime's priority of an entry.
pub(crate) fn priority(entry: &v1::TableEntry) -> u32 {
    HIGHEST.saturating_sub(entry.priority).max(0) as u32
}

/// A match of a field; `None` if anything matches.
fn key_match(key: &Key, given: &MatchType) -> Result<Option<FieldMatchType>> {
    let bits = match key.ty {
        Ty::Bytes(bits) | Ty::Uint(bits) => bits,
        Ty::Bool | Ty::Float | Ty::Text(_) => 1,
    };
    let read = |bytes: &[u8]| number(&key.name, bits, bytes);
    let write = |value: &BigUint| value.to_bytes_be().into();
    let all = (BigUint::from(1u32) << bits) - 1u32;
    Ok(match (key.matching, given) {
        (Matching::Exact, MatchType::Exact(m)) => {
            Some(FieldMatchType::Exact(wire::Exact { value: write(&read(&m.value)?) }))
        }
        (Matching::Lpm, MatchType::Lpm(m)) => {
            let length = u32::try_from(m.prefix_len).ok().filter(|n| *n <= bits);
            let length = length
                .ok_or_else(|| invalid(format!("`{}`: a prefix of {} bits of {bits}", key.name, m.prefix_len)))?;
            let value = (read(&m.value)? >> (bits - length)) << (bits - length);
            (length > 0).then(|| FieldMatchType::Lpm(wire::Lpm { value: write(&value), prefix_len: length as i32 }))
        }
        (Matching::Ternary, MatchType::Ternary(m)) => {
            let (value, mask) = (read(&m.value)?, read(&m.mask)?);
            (mask != BigUint::ZERO)
                .then(|| FieldMatchType::Ternary(wire::Ternary { value: write(&(value & &mask)), mask: write(&mask) }))
        }
        (Matching::Range, MatchType::Range(m)) => {
            let (low, high) = (read(&m.low)?, read(&m.high)?);
            if low > high {
                return Err(invalid(format!("`{}`: the low bound is above the high one", key.name)));
            }
            (low != BigUint::ZERO || high != all)
                .then(|| FieldMatchType::Range(wire::Range { low: write(&low), high: write(&high) }))
        }
        (Matching::Optional, MatchType::Optional(m)) => match m.is_valid {
            true => Some(FieldMatchType::Optional(wire::Optional { value: write(&read(&m.value)?) })),
            false => None,
        },
        _ => return Err(invalid(format!("`{}` is matched in another way", key.name))),
    })
}
