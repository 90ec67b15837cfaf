//! Turns the updates of a write into updates of the control model and changes of the [`State`].

mod device;
mod filters;
mod generators;
mod idle;
mod multicast;
pub(crate) mod objects;
mod ports;

pub(crate) use device::LEARN_TIMEOUT;
pub(crate) use generators::{BUFFER, buffered, data_of, place};
pub(crate) use objects::{rates_of, value_set};
pub(crate) use ports::has_link;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hopwright_control::entity::{Action, Call, DefaultEntry, Entry, Key};
use hopwright_control::{Entity, EntryKey, Operation, Target, Update};
use hopwright_dataplane::{PortSet, Stream, StreamCounts, VirtualDataPlane};
use hopwright_ir::hash_object::HashObject;
use hopwright_ir::{ExternId, MatchValue};
use hopwright_p4runtime::Device;
use num_bigint::BigUint;

use crate::attributes;
use crate::failure::{Result, invalid, not_found, unimplemented};
use crate::hashes::{self, Changed};
use crate::proto::{self, key_field::MatchType, table_entry, update};
use crate::schema::{Field, Key as KeyField, Matching, Object, Schema, Table, field, operations};
use crate::state::{Change, PIPES, State};
use crate::value::{self, Data, number, small};

/// Highest priority that an entry gets: that of BfRuntime's priority 0, which wins over larger numbers.
const HIGHEST: i32 = 1 << 30;

/// What an update changes.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub updates: Vec<Update>,
    pub changes: Vec<Change>,
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
    /// Bytes that meters add to the length of packets.
    MeterBytes(Arc<VirtualDataPlane>, ExternId, i32),
}

impl Counting {
    pub(crate) fn set(self) {
        match self {
            Counting::PortDown(down, port) => down.remove(port),
            // It was checked that it can be done.
            Counting::MeterBytes(vdp, meter, bytes) => {
                let _ = vdp.control().meter(meter).and_then(|meters| meters.set_adjustment(bytes));
            }
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
    fn update(operation: Operation, entity: Entity) -> Effects {
        Effects::new(vec![Update { operation, entity }], Vec::new())
    }

    fn new(updates: Vec<Update>, changes: Vec<Change>) -> Effects {
        Effects { updates, changes, ..Effects::default() }
    }
}

/// What an update means for a device in this state, and for this pipe if the table is one of each pipe.
///
/// # Errors
/// If it is invalid, or not supported.
pub(crate) fn effects(
    state: &State,
    device: &Device,
    target: &proto::TargetDevice,
    update: &proto::Update,
) -> Result<Effects> {
    use proto::entity::Entity as Written;
    let kind = update::Type::try_from(update.r#type).unwrap_or(update::Type::Unspecified);
    let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
    match entity.ok_or_else(|| invalid("the update has no entity"))? {
        Written::TableEntry(entry) => {
            let table = table(&state.schema, entry.table_id)?;
            if let Some(table_entry::Value::HandleId(_)) = entry.value {
                return Err(unimplemented("entries are written by their keys only, not by handles"));
            }
            let target = entry.entry_tgt.as_ref().unwrap_or(target);
            attributes::check_write(state, table, target)?;
            let request = Request { state, device, table, kind, entry, pipe: target.pipe_id };
            match table.object {
                Object::Match { .. } => request.match_entry(),
                Object::Members => request.member(),
                Object::Groups { profile } => request.members_group(profile),
                Object::Counter => request.counter(),
                Object::Meter(unit) => request.meter(unit),
                Object::Register => request.register(),
                Object::Filter(kind) => request.filter(kind),
                Object::RegisterParam => request.register_param(),
                Object::HashFields(id) => request.hash(id, |hash| hashes::configured(table, hash.1, kind, entry)),
                Object::HashAlgorithm(id) => {
                    request.hash(id, |(object, changed)| hashes::algorithm(table, object, changed, kind, entry))
                }
                Object::HashResult(_) | Object::SelectedMember { .. } | Object::PortNames(_) => {
                    Err(request.unsupported())
                }
                Object::PortMetadata { register, bits } => request.port_metadata(register, bits),
                Object::Device => request.device_settings(),
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
                Object::PortCounts => request.port_counts(),
            }
        }
        Written::TableOperation(operation) => {
            let table = table(&state.schema, operation.table_id)?;
            let name = operation.table_operations_type.as_str();
            match name {
                "UpdateHitState" if operations(table).contains(&name) => idle::update_hits(device, table),
                // Counters and registers are always up to date.
                "SyncCounters" | "SyncRegisters" | "Sync" => Ok(Effects::default()),
                other => Err(unimplemented(format!("`{}` has no operation `{other}`", table.name))),
            }
        }
        Written::TableAttribute(attribute) => attributes::set(state, device, attribute),
        Written::TableUsage(_) | Written::ObjectId(_) | Written::Handle(_) => {
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

    /// Changes a hash, of which there is the default entry only.
    fn hash(&self, id: u32, change: impl FnOnce((&HashObject, &Changed)) -> Result<Changed>) -> Result<Effects> {
        if !self.entry.is_default_entry {
            return Err(invalid(format!("`{}` has a default entry only", self.table.name)));
        }
        let hash = self.state.schema.hashes.get(&id).ok_or_else(|| not_found("there is no such hash"))?;
        let before = self.state.hashes.get(&id).cloned().unwrap_or_default();
        Ok(Effects::new(Vec::new(), vec![Change::Hash(id, change((hash, &before))?)]))
    }

    fn match_entry(&self) -> Result<Effects> {
        use update::Type as Kind;
        // All entries of a table without keys are the default one.
        let cleared = self.kind == Kind::Delete && self.key_fields().is_empty();
        if self.entry.is_default_entry || cleared && self.table.keys.is_empty() {
            return self.default_entry();
        }
        if cleared {
            return self.delete_all();
        }
        let mut entry = Entry { key: self.state.masked(keyed(self.table, self.key_fields())?), ..Entry::default() };
        let operation = match self.kind {
            Kind::Insert => Operation::Insert,
            Kind::Modify => Operation::Modify,
            Kind::InsertOrModify => match self.current(&entry.key, |_, _| ())? {
                Some(()) => Operation::Modify,
                None => Operation::Insert,
            },
            Kind::Delete => {
                let mut changes = self.without_filters(&entry.key);
                changes.push(Change::Deleted(entry.key.clone()));
                return Ok(Effects { changes, ..Effects::update(Operation::Delete, Entity::Entry(entry)) });
            }
            _ => return Err(self.unsupported()),
        };
        entry.action = self.action(&entry.key, operation)?;
        self.fill(operation, &mut entry)?;
        let mut settings = self.cells(&entry.key)?;
        let mut changes = self.filters_of_entry(operation, &entry.key, &mut settings)?;
        changes.extend(self.idle_entry(operation, &entry.key)?);
        let mut effects = Effects::update(operation, Entity::Entry(entry));
        effects.updates.extend(settings);
        Ok(Effects { changes, ..effects })
    }

    fn default_entry(&self) -> Result<Effects> {
        use update::Type as Kind;
        let table = self.table.id;
        let (action, member) = match self.kind {
            Kind::Insert | Kind::Modify | Kind::InsertOrModify => match self.default_action()? {
                Some(Action::Member(member)) => (Some(self.call_of_member(member)?), Some(member)),
                Some(Action::Call(call)) => (Some(call), None),
                Some(_) => {
                    let name = &self.table.name;
                    return Err(invalid(format!("the default entry of `{name}` names an action or a member")));
                }
                None => (None, None),
            },
            // There is nothing to reset.
            Kind::Delete | Kind::Reset if self.table.const_default => return Ok(Effects::default()),
            Kind::Delete | Kind::Reset => (None, None),
            _ => return Err(self.unsupported()),
        };
        let entry = DefaultEntry { table, action, ..DefaultEntry::default() };
        let mut effects = Effects::update(Operation::Modify, Entity::Default(entry));
        if member.is_some() || self.state.default_members.contains_key(&table) {
            effects.changes.push(Change::DefaultMember(table, member));
        }
        Ok(effects)
    }

    fn delete_all(&self) -> Result<Effects> {
        let keys = self.device.read_model(Some(self.table.id), |model| {
            let table = model.schema().table(self.table.id)?;
            let entries = if table.const_entries { Vec::new() } else { model.control()[table.at].entries() };
            Ok(entries.into_iter().map(|e| table.key(&(table.at, e.matches, e.priority))).collect::<Vec<Key>>())
        })?;
        let mut effects = Effects::default();
        for key in keys {
            effects.changes.extend(self.without_filters(&key));
            effects.changes.push(Change::Deleted(key.clone()));
            let entity = Entity::Entry(Entry { key, ..Entry::default() });
            effects.updates.push(Update { operation: Operation::Delete, entity });
        }
        Ok(effects)
    }

    /// Looks at an entry, if it is there.
    fn current<T>(
        &self,
        key: &Key,
        look: impl FnOnce(&hopwright_dataplane::Table, &EntryKey) -> T,
    ) -> Result<Option<T>> {
        self.device.read_model(Some(key.table), |model| {
            let key = model.schema().table(key.table)?.entry_key(key)?;
            Ok(model.target(&key).map(|_| look(&model.control()[key.0], &key)))
        })
    }

    /// The action of a new entry that names none: the only one that entries may have, if it has no parameters.
    fn only_action(&self) -> Option<Call> {
        use proto::update::Type as Kind;
        let mut actions = self.table.actions.iter().filter(|a| a.scope != "DefaultOnly");
        match (self.kind, actions.next(), actions.next()) {
            (Kind::Insert, Some(only), None) if only.data.is_empty() => {
                Some(Call { action: only.id, args: Vec::new() })
            }
            _ => None,
        }
    }

    /// The action that the request names, with the data that an entry with it may have.
    fn named_action(&self) -> Result<(Option<&'r crate::schema::Action>, Data<'r>)> {
        let data = self.entry.data.as_ref();
        let action = match data.map_or(0, |d| d.action_id) {
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
        Ok((action, Data::new(data, known, &self.table.name)?))
    }

    /// What a default entry runs.
    fn default_action(&self) -> Result<Option<Action>> {
        self.action_or(|_| Ok(None))
    }

    /// What an entry runs. A modification that leaves parameters out keeps them.
    fn action(&self, key: &Key, operation: Operation) -> Result<Option<Action>> {
        self.action_or(|action| match operation {
            Operation::Modify => self.arguments(key, action),
            _ => Ok(None),
        })
    }

    /// The arguments with which an entry runs this action.
    fn arguments(&self, key: &Key, action: u32) -> Result<Option<Vec<(u32, BigUint)>>> {
        self.device.read_model(Some(key.table), |model| {
            let table = model.schema().table(key.table)?;
            let at = table.entry_key(key)?;
            let Some(Target::Action(call)) = model.target(&at) else { return Ok(None) };
            let known = table.actions.iter().find(|a| a.at == call.action && a.id == action);
            Ok(known.map(|known| known.params.iter().map(|p| p.id).zip(call.args).collect()))
        })
    }

    fn action_or(&self, before: impl FnOnce(u32) -> Result<Option<Vec<(u32, BigUint)>>>) -> Result<Option<Action>> {
        let (action, values) = self.named_action()?;
        let member = values.small(field::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", 32)?;
        let group = values.small(field::SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID", 32)?;
        Ok(match (action, member, group) {
            (Some(action), None, None) if action.data.iter().all(|f| values.has(f.id)) => {
                Some(Action::Call(call(action, &values, &[])?))
            }
            (Some(action), None, None) => {
                let before = before(action.id)?.unwrap_or_default();
                Some(Action::Call(call(action, &values, &before)?))
            }
            (None, Some(member), None) => Some(Action::Member(member as u32)),
            (None, None, Some(group)) => {
                self.check_group(group as u32)?;
                Some(Action::Group(group as u32))
            }
            (None, None, None) => self.only_action().map(Action::Call),
            _ => return Err(invalid("an entry has one action, member or group")),
        })
    }

    /// Gives an entry its counter and meter, if the request has them.
    fn fill(&self, operation: Operation, entry: &mut Entry) -> Result<()> {
        let Object::Match { counter, meter, .. } = self.table.object else { return Ok(()) };
        let (_, values) = self.named_action()?;
        if counter && (values.has(field::COUNTER_BYTES) || values.has(field::COUNTER_PACKETS)) {
            let before = self.current(&entry.key, |table, (_, matches, priority)| {
                table.direct_count(matches, *priority).unwrap_or_default()
            })?;
            entry.count = Some(objects::count(&values, before.unwrap_or_default())?);
        }
        if let Some(unit) = meter {
            entry.rates = objects::rates(&values, unit)?;
            // A modification without rates keeps them.
            if entry.rates.is_none() && operation == Operation::Modify {
                let before = self.current(&entry.key, |table, (_, matches, priority)| {
                    table.direct_meter(matches, *priority).ok().flatten()
                })?;
                entry.rates = before.flatten();
            }
        }
        Ok(())
    }
}

/// The call of an action. Arguments that are missing are those that were there before, or zero, as with Tofino's drivers.
fn call(action: &crate::schema::Action, values: &Data<'_>, before: &[(u32, BigUint)]) -> Result<Call> {
    let one = |field: &Field| {
        let kept = || before.iter().find(|(id, _)| *id == field.id).map(|(_, value)| value.clone());
        let value = values.number(field)?.or_else(kept);
        Ok((field.id, value.unwrap_or_default()))
    };
    Ok(Call { action: action.id, args: action.data.iter().map(one).collect::<Result<_>>()? })
}

/// The fields of a request's key.
pub(crate) fn key_fields(entry: &proto::TableEntry) -> &[proto::KeyField] {
    match &entry.value {
        Some(table_entry::Value::Key(key)) => &key.fields,
        _ => &[],
    }
}

/// The entry with these keys: of fields that are not there and need no value, anything matches.
pub(crate) fn keyed(table: &Table, fields: &[proto::KeyField]) -> Result<Key> {
    let has_priority = table.keys.iter().any(|k| k.id == field::MATCH_PRIORITY);
    let priority = if has_priority { HIGHEST } else { 0 };
    let mut entry = Key { table: table.id, fields: Vec::new(), priority };
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
        entry.fields.extend(key_match(key, matches)?.map(|value| (key.id, value)));
    }
    // The order in which they are read.
    entry.fields.sort_by_key(|(id, _)| table.keys.iter().position(|k| k.id == *id));
    Ok(entry)
}

/// BfRuntime's priority of an entry.
pub(crate) fn priority(priority: i32) -> u32 {
    HIGHEST.saturating_sub(priority).max(0) as u32
}

/// A match of a field; `None` if anything matches.
fn key_match(key: &KeyField, given: &MatchType) -> Result<Option<MatchValue>> {
    let bits = key.ty.bits();
    let read = |bytes: &[u8]| number(&key.name, bits, bytes);
    let all = (BigUint::from(1u32) << bits) - 1u32;
    Ok(match (key.matching, given) {
        (Matching::Exact, MatchType::Exact(m)) => Some(MatchValue::Exact(read(&m.value)?)),
        (Matching::Lpm, MatchType::Lpm(m)) => {
            let length = u32::try_from(m.prefix_len).ok().filter(|n| *n <= bits);
            let prefix_len = length
                .ok_or_else(|| invalid(format!("`{}`: a prefix of {} bits of {bits}", key.name, m.prefix_len)))?;
            let value = (read(&m.value)? >> (bits - prefix_len)) << (bits - prefix_len);
            (prefix_len > 0).then_some(MatchValue::Lpm { value, prefix_len })
        }
        (Matching::Ternary, MatchType::Ternary(m)) => {
            let (value, mask) = (read(&m.value)?, read(&m.mask)?);
            (mask != BigUint::ZERO).then(|| MatchValue::Ternary { value: value & &mask, mask })
        }
        (Matching::Range, MatchType::Range(m)) => {
            let (lo, hi) = (read(&m.low)?, read(&m.high)?);
            (lo != BigUint::ZERO || hi != all).then_some(MatchValue::Range { lo, hi })
        }
        (Matching::Optional, MatchType::Optional(m)) => match m.is_valid {
            true => Some(MatchValue::Optional(Some(read(&m.value)?))),
            false => None,
        },
        _ => return Err(invalid(format!("`{}` is matched in another way", key.name))),
    })
}
