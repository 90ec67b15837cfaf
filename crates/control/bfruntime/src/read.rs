//! Evaluates reads: what is in the control model becomes entries of tables.

mod device;
mod hashes;
mod ports;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use hopwright_control::entity::Key as EntryId;
use hopwright_control::schema::{Table as ModelTable, object};
use hopwright_control::{EntryKey, Model, Target};
use hopwright_dataplane::{Count, EntryTarget, Rates};
use hopwright_ir::{ActionCall, MatchValue};
use hopwright_p4runtime::Device;
use num_bigint::BigUint;
use tonic::Code;

use crate::attributes;
use crate::failure::{Result, invalid, not_found, unimplemented};
use crate::idle::Shown;
use crate::proto::{
    self, TableData, data_field::Value, entity::Entity, handle_id, key_field as wire, object_id, table_entry,
};
use crate::schema::program::HIT_STATES;
use crate::schema::{Field, Generation, Key, MeterUnit, Object, Schema, Table, Ty, field, fixed};
use crate::state::{DEFAULT_ENTRY, FilterCell, State};
use crate::value::{bytes, field as data_field, number_key, numbers, numeric, truths};
use crate::write::{self, key_fields, keyed, table};

/// What a request finds, in this pipe if the table is one of each pipe.
///
/// # Errors
/// If it is invalid.
pub(crate) fn find(state: &mut State, device: &Device, pipe: u32, asked: &proto::Entity) -> Result<Vec<Entity>> {
    match asked.entity.as_ref().ok_or_else(|| invalid("an entity is empty"))? {
        Entity::TableEntry(entry) => {
            look_for_idle(state, device, Instant::now());
            entries(state, device, pipe, entry)
        }
        Entity::TableUsage(request) => {
            let table = table(&state.schema, request.table_id)?;
            let all = proto::TableEntry { table_id: request.table_id, ..Default::default() };
            let usage = match attributes::check_read(state, table, pipe, true, false) {
                Ok(()) => {
                    Read { state, device, table, request: &all, pipe, from_hardware: true }.entries()?.len() as u32
                }
                Err(failure) if failure.code == Code::NotFound => 0,
                Err(failure) => return Err(failure),
            };
            Ok(vec![Entity::TableUsage(proto::TableUsage { table_id: request.table_id, usage, ..Default::default() })])
        }
        Entity::ObjectId(object) => {
            let id = object_id(&state.schema, object)?;
            Ok(vec![Entity::ObjectId(proto::ObjectId { object: None, id })])
        }
        Entity::TableAttribute(attribute) => {
            Ok(vec![Entity::TableAttribute(attributes::get(state, device, attribute)?)])
        }
        Entity::Handle(asked) => {
            let handle = handle(state, device, pipe, asked)?;
            let value = Some(handle_id::Value::HandleId(handle));
            Ok(vec![Entity::Handle(proto::HandleId { table_id: asked.table_id, value })])
        }
        Entity::TableOperation(_) => Err(invalid("an operation is written, not read")),
    }
}

fn handle_of(entry: &proto::TableEntry) -> Option<u32> {
    match entry.value {
        Some(table_entry::Value::HandleId(handle)) => Some(handle),
        _ => None,
    }
}

/// The entries of a table that a request finds.
fn entries(state: &State, device: &Device, pipe: u32, asked: &proto::TableEntry) -> Result<Vec<Entity>> {
    let table = table(&state.schema, asked.table_id)?;
    let pipe = asked.entry_tgt.as_ref().map_or(pipe, |target| target.pipe_id);
    let flags = asked.table_flags.unwrap_or_default();
    let from_hardware = flags.from_hw || asked.table_read_flag.is_some_and(|flags| flags.from_hw);
    let mut request = asked.clone();
    let handle = handle_of(asked);
    if handle == Some(DEFAULT_ENTRY) {
        request.is_default_entry = true;
    } else if let Some(handle) = handle {
        let wrong = || invalid(format!("`{}` has no entry with the handle {handle}", table.name));
        let key = state.handles.key(table.id, handle).ok_or_else(wrong)?;
        request.value = Some(table_entry::Value::Key(key_of(table, key)));
    }
    match request.is_default_entry {
        true => attributes::check_default(state, table, pipe)?,
        false => attributes::check_read(state, table, pipe, from_hardware, handle.is_some())?,
    }
    let read = Read { state, device, table, request: &request, pipe, from_hardware };
    let mut found = read.entries()?;
    // Of entries with an action, those with the action that the request names.
    let action = request.data.as_ref().map_or(0, |data| data.action_id);
    if action != 0 && !request.is_default_entry && matches!(table.object, Object::Match { .. }) {
        let before = found.len();
        found.retain(|(_, data)| data.action_id == action);
        if !key_fields(&request).is_empty() && found.len() < before {
            return Err(invalid(format!("the entry of `{}` with this key has another action", table.name)));
        }
    }
    if found.is_empty() && !key_fields(&request).is_empty() {
        return Err(not_found(format!("`{}` has no entry with this key", table.name)));
    }
    Ok(found.into_iter().map(|(key, data)| read.entry(key, data)).collect())
}

/// The handle of an entry that is there.
fn handle(state: &mut State, device: &Device, pipe: u32, asked: &proto::HandleId) -> Result<u32> {
    let schema = state.schema.clone();
    let table = table(&schema, asked.table_id)?;
    let Some(handle_id::Value::Key(key)) = &asked.value else { return Err(invalid("a handle is asked for by a key")) };
    if !matches!(table.object, Object::Match { .. }) {
        return Err(unimplemented(format!("entries of `{}` have no handles", table.name)));
    }
    attributes::check_read(state, table, pipe, true, false)?;
    let id = state.masked(keyed(table, &key.fields)?);
    let there = device.read_model(Some(table.id), |model| {
        let at = model.schema().table(table.id)?.entry_key(&id)?;
        Ok(model.target(&at).is_some())
    })?;
    match there {
        true => Ok(state.handles.of(&id)),
        false => Err(not_found(format!("`{}` has no entry with this key", table.name))),
    }
}

/// Looks for entries that have become idle, or active, if it is time to.
pub(crate) fn look_for_idle(state: &mut State, device: &Device, now: Instant) -> Vec<(EntryId, bool)> {
    if !state.idle.due(now) {
        return Vec::new();
    }
    let hits = |key: &EntryId| {
        let hits = device.read_model(Some(key.table), |model| {
            let at = model.schema().table(key.table)?.entry_key(key)?;
            Ok(model.target(&at).map(|_| model.control()[at.0].hits(&at.1, at.2)))
        });
        hits.ok().flatten()
    };
    state.idle.look(now, hits)
}

/// An entry's key as controllers read it.
pub(crate) fn key_of(table: &Table, key: &EntryId) -> proto::TableKey {
    proto::TableKey { fields: table.keys.iter().map(|k| key_field(k, key)).collect() }
}

/// The id of what a controller names.
fn object_id(schema: &Schema, request: &proto::ObjectId) -> Result<u32> {
    use object_id::table_object::Names;
    let named = |what: &str, name: &str| not_found(format!("there is no {what} `{name}`"));
    match request.object.as_ref().ok_or_else(|| invalid("an object is missing"))? {
        object_id::Object::TableObject(of) => {
            let table = schema.tables.iter().find(|t| t.name == of.table_name);
            let table = table.ok_or_else(|| named("table", &of.table_name))?;
            let action =
                |name: &str| table.actions.iter().find(|a| a.name == name).ok_or_else(|| named("action", name));
            match &of.names {
                None => Ok(table.id),
                Some(Names::ActionName(name)) => Ok(action(&name.action)?.id),
                Some(Names::KeyFieldName(name)) => {
                    let key = table.keys.iter().find(|k| k.name == name.field);
                    Ok(key.ok_or_else(|| named("key field", &name.field))?.id)
                }
                Some(Names::DataFieldName(name)) => {
                    let own = if name.action.is_empty() { None } else { Some(action(&name.action)?) };
                    let mut fields = own.into_iter().flat_map(|a| &a.data).chain(&table.data);
                    let field = fields.find(|f| f.name == name.field);
                    Ok(field.ok_or_else(|| named("data field", &name.field))?.id)
                }
            }
        }
        object_id::Object::LearnObject(of) => {
            let digest = schema.digests.iter().find(|d| d.name == of.learn_name);
            let digest = digest.ok_or_else(|| named("digest", &of.learn_name))?;
            match &of.data_field_name {
                None => Ok(digest.id),
                Some(name) => {
                    let field = digest.fields.iter().find(|f| f.name == name.field);
                    Ok(field.ok_or_else(|| named("data field", &name.field))?.id)
                }
            }
        }
    }
}

/// A read of a table.
struct Read<'r> {
    state: &'r State,
    device: &'r Device,
    table: &'r Table,
    request: &'r proto::TableEntry,
    pipe: u32,
    /// Not from what a controller has written.
    from_hardware: bool,
}

type Found = (Vec<proto::KeyField>, TableData);

impl Read<'_> {
    fn entry(&self, key: Vec<proto::KeyField>, data: TableData) -> Entity {
        let key_only = self.request.table_flags.is_some_and(|f| f.key_only);
        Entity::TableEntry(proto::TableEntry {
            table_id: self.table.id,
            value: (!self.request.is_default_entry).then_some(table_entry::Value::Key(proto::TableKey { fields: key })),
            data: (!key_only).then_some(self.wanted(data)),
            // Of a default entry that is found by its handle, clients want the data as of any entry.
            is_default_entry: self.request.is_default_entry && handle_of(self.request) != Some(DEFAULT_ENTRY),
            entry_tgt: self.request.entry_tgt,
            ..Default::default()
        })
    }

    /// The fields that the request asks for; all of them if it names none.
    fn wanted(&self, mut data: TableData) -> TableData {
        let asked = self.request.data.as_ref().map(|d| d.fields.as_slice()).unwrap_or_default();
        if !asked.is_empty() {
            data.fields.retain(|f| asked.iter().any(|a| a.field_id == f.field_id));
        }
        data
    }

    fn entries(&self) -> Result<Vec<Found>> {
        match self.table.object {
            Object::Match { counter, meter, idle, .. } => self.match_entries(counter, meter, idle),
            Object::Members => self.members(),
            Object::Groups { profile } => self.groups(profile),
            Object::Counter => self.counters(),
            Object::Meter(unit) => self.meters(unit),
            Object::Register => self.registers(self.table.id),
            Object::Filter(_) => self.filters(),
            Object::ValueSet => self.value_set(),
            Object::RegisterParam => self.register_param(),
            Object::HashFields(id) | Object::HashAlgorithm(id) | Object::HashResult(id) => self.hash(id),
            Object::SelectedMember { profile } => self.selected_member(profile),
            Object::PortMetadata { register, bits } => self.port_metadata(register, bits),
            Object::Device => Ok(vec![(Vec::new(), device::settings(self.state, self.device))]),
            Object::MulticastGroups => self.multicast_groups(),
            Object::MulticastLags => self.lists(&self.state.lags),
            Object::MulticastEcmps => self.lists(&self.state.ecmps),
            Object::Pruning => self.pruned(),
            Object::CpuPort => self.cpu_port(),
            Object::MulticastNodes => self.nodes(),
            Object::Mirror => self.stored(self.state.sessions.iter().map(|(id, data)| (u32::from(*id), data))),
            Object::Ports => self.ports(),
            Object::PortCounts => self.port_counts(),
            Object::PortNames(by) => self.port_names(by),
            Object::Applications => self.applications(),
            Object::GeneratorPorts => self.stored(self.state.generators.ports.iter().map(|(id, data)| (*id, data))),
            Object::PacketBuffer => self.packet_buffer(),
        }
    }

    /// The number in the request's key, if there is one.
    fn number(&self) -> Result<Option<u64>> {
        let key = self.table.keys.first().ok_or_else(|| invalid("the table has no key"))?;
        match key_fields(self.request) {
            [] => Ok(None),
            [one] if one.field_id == key.id => match &one.match_type {
                Some(wire::MatchType::Exact(m)) => crate::value::small(&key.name, key.ty.bits(), &m.value).map(Some),
                _ => Err(invalid(format!("`{}` is a number", key.name))),
            },
            _ => Err(invalid(format!("the key of `{}` is `{}`", self.table.name, key.name))),
        }
    }

    fn number_key(&self, value: u64) -> Vec<proto::KeyField> {
        number_key(self.table, value).fields
    }

    /// Looks at the control model.
    fn model<T>(&self, object: u32, look: impl FnOnce(&Model) -> Result<T>) -> Result<T> {
        self.device.read_model(Some(object), look)
    }

    fn match_entries(&self, counter: bool, meter: Option<MeterUnit>, idle: bool) -> Result<Vec<Found>> {
        self.model(self.table.id, |model| {
            let table = model.schema().table(self.table.id)?;
            let entries = &model.control()[table.at];
            if self.request.is_default_entry
                && let Some(member) = self.state.default_members.get(&self.table.id)
            {
                return Ok(vec![(Vec::new(), of_fields(vec![word(field::ACTION_MEMBER_ID, *member)]))]);
            }
            if self.request.is_default_entry {
                return Ok(vec![(Vec::new(), self.target(table, &Target::Action(entries.default_action())))]);
            }
            let keys: Vec<EntryKey> = match key_fields(self.request) {
                [] => entries.entries().into_iter().map(|e| (table.at, e.matches, e.priority)).collect(),
                given => vec![table.entry_key(&self.state.masked(keyed(self.table, given)?))?],
            };
            let mut found = Vec::new();
            for at in keys {
                let Some(target) = model.target(&at) else { continue };
                let (key, (_, matches, priority)) = (table.key(&at), &at);
                let mut data = self.target(table, &target);
                if counter {
                    data.fields.extend(self.counts(entries.direct_count(matches, *priority).unwrap_or_default()));
                }
                if let Some(unit) = meter {
                    let of_entry = entries.direct_meter(matches, *priority).ok().flatten();
                    data.fields.extend(rates(of_entry, unit, self.state.schema.generation));
                }
                for register in &self.table.registers {
                    let index = entries.entry_index(matches, *priority).map(u64::from);
                    for (_, fields) in cells(model, register.id, index, &register.fields)? {
                        data.fields.extend(fields);
                    }
                }
                for (id, _) in &self.table.filters {
                    let cell = FilterCell::Entry(*id, key.clone());
                    data.fields.extend(self.state.filters.get(&cell).into_iter().flatten().cloned());
                }
                if idle {
                    let hits = entries.hits(matches, *priority);
                    let shown = self.state.idle.shown(self.table.id, &key, hits, self.from_hardware);
                    data.fields.push(match shown {
                        Shown::Ttl(left) => word(field::ENTRY_TTL, left),
                        Shown::Active(active) => {
                            data_field(field::ENTRY_HIT_STATE, Value::StrVal(HIT_STATES[usize::from(active)].into()))
                        }
                    });
                }
                found.push((key_of(self.table, &key).fields, data));
            }
            Ok(found)
        })
    }

    /// What an entry runs.
    fn target(&self, table: &ModelTable, target: &Target) -> TableData {
        match target {
            Target::Action(call) => self.action(table, call),
            Target::Profile(EntryTarget::Member(id)) => of_fields(vec![word(field::ACTION_MEMBER_ID, *id)]),
            Target::Profile(EntryTarget::Group(id)) => of_fields(vec![word(field::SELECTOR_GROUP_ID, *id)]),
            // An action set of P4Runtime has no member or group.
            Target::Profile(EntryTarget::Set(_)) => TableData::default(),
        }
    }

    fn action(&self, table: &ModelTable, call: &ActionCall) -> TableData {
        let Some(action) = table.actions.iter().find(|a| a.at == call.action) else { return TableData::default() };
        let known = self.table.actions.iter().find(|a| a.id == action.id);
        let width = |id| known.and_then(|a| a.data.iter().find(|f| f.id == id)).map_or(8, |f| f.ty.bits());
        let args = action.params.iter().zip(&call.args);
        let fields = args.map(|(param, value)| data_field(param.id, Value::Stream(bytes(value, width(param.id)))));
        TableData { action_id: action.id, fields: fields.collect() }
    }

    /// Counts, of which the table may have one only.
    fn counts(&self, count: Count) -> Vec<proto::DataField> {
        let all = [(field::COUNTER_BYTES, count.bytes), (field::COUNTER_PACKETS, count.packets)];
        let has = |id: u32| self.table.data.iter().any(|f| f.id == id);
        let all = all.into_iter().filter(|(id, _)| has(*id));
        all.map(|(id, n)| numeric(id, Ty::Uint(64), &n.into())).collect()
    }

    /// Those of numbered objects that the request asks for.
    fn numbered<T>(&self, all: Vec<(u32, T)>) -> Result<impl Iterator<Item = (u32, T)>> {
        let wanted = self.number()?;
        Ok(all.into_iter().filter(move |(id, _)| wanted.is_none_or(|wanted| wanted == u64::from(*id))))
    }

    fn members(&self) -> Result<Vec<Found>> {
        self.model(self.table.id, |model| {
            let profile = object(&model.schema().action_profiles, self.table.id, "action profile")?;
            let table = profile.tables.first().and_then(|id| model.schema().tables.get(id));
            let all = self.numbered(model.control().profile(profile.at)?.members())?;
            let data = |call: &ActionCall| table.map(|table| self.action(table, call)).unwrap_or_default();
            Ok(all.map(|(id, call)| (self.number_key(id.into()), data(&call))).collect())
        })
    }

    fn groups(&self, profile: u32) -> Result<Vec<Found>> {
        let groups = self.model(profile, |model| {
            let profile = object(&model.schema().action_profiles, profile, "action profile")?;
            Ok(model.control().profile(profile.at)?.groups())
        });
        let found = |(id, group): (u32, hopwright_dataplane::Group)| {
            let inactive = self.state.inactive.get(&(profile, id));
            let active = group.members.iter().map(|(member, weight)| (*member, *weight, true));
            let all = active.chain(inactive.into_iter().flatten().map(|(member, times)| (*member, *times, false)));
            let mut members: Vec<(u32, bool)> =
                all.flat_map(|(member, times, is)| (0..times).map(move |_| (member, is))).collect();
            members.sort_unstable();
            if let Some(order) = self.state.member_order.get(&(profile, id)) {
                members = ordered(members, order);
            }
            let data = vec![
                numbers(field::ACTION_MEMBER_ID, members.iter().map(|m| m.0).collect()),
                truths(field::ACTION_MEMBER_STATUS, members.iter().map(|m| m.1).collect()),
                word(field::MAX_GROUP_SIZE, group.max_size),
            ];
            (self.number_key(id.into()), of_fields(data))
        };
        Ok(self.numbered(groups?)?.map(found).collect())
    }

    fn counters(&self) -> Result<Vec<Found>> {
        let (id, index) = (self.table.id, self.number()?);
        self.model(id, |model| {
            let counter = object(&model.schema().counters, id, "counter")?;
            let counts = model.control().counter(counter.at)?;
            let found = |at| Ok((self.number_key(at), of_fields(self.counts(counts.read(at)?))));
            counter.range(index)?.map(found).collect()
        })
    }

    fn meters(&self, unit: MeterUnit) -> Result<Vec<Found>> {
        let (id, index) = (self.table.id, self.number()?);
        self.model(id, |model| {
            let meter = object(&model.schema().meters, id, "meter")?;
            let meters = model.control().meter(meter.at)?;
            let found =
                |at| Ok((self.number_key(at), of_fields(rates(meters.rates(at)?, unit, self.state.schema.generation))));
            meter.range(index)?.map(found).collect()
        })
    }

    fn register_param(&self) -> Result<Vec<Found>> {
        let cells = self.model(self.table.id, |model| cells(model, self.table.id, Some(0), &self.table.data))?;
        Ok(cells.into_iter().map(|(_, fields)| (Vec::new(), of_fields(fields))).collect())
    }

    /// Port metadata that was written, as the program finds it.
    fn port_metadata(&self, register: Option<u32>, bits: u32) -> Result<Vec<Found>> {
        let (wanted, table) = (self.number()?, self.table.id);
        let written = self.state.port_metadata.range((table, 0)..=(table, u32::MAX));
        let shown = written.filter(|((_, port), _)| wanted.is_none_or(|w| w == u64::from(*port)));
        let one = |((_, port), kept): (&(u32, u32), &Vec<proto::DataField>)| {
            let fields = match register {
                Some(register) => {
                    let unused = bits - self.table.data.iter().map(|f| f.ty.bits()).sum::<u32>();
                    let mut known = self.table.data.clone();
                    // What is below the fields.
                    known.push(Field::new(0, "", Ty::Bytes(unused)));
                    let index = Some(u64::from(*port));
                    let mut cells = self.model(register, |model| cells(model, register, index, &known))?;
                    cells.pop().map(|(_, fields)| fields).unwrap_or_default()
                }
                None => kept.clone(),
            };
            let fields = fields.into_iter().filter(|f| f.field_id != 0).collect();
            Ok((self.number_key(u64::from(*port)), of_fields(fields)))
        };
        shown.map(one).collect()
    }

    fn registers(&self, register: u32) -> Result<Vec<Found>> {
        let index = self.number()?;
        let cells = self.model(register, |model| cells(model, register, index, &self.table.data))?;
        Ok(cells.into_iter().map(|(at, fields)| (self.number_key(at), of_fields(fields))).collect())
    }

    /// Cells of a filter that have settings.
    fn filters(&self) -> Result<Vec<Found>> {
        let wanted = self.number()?;
        let cell = |(cell, fields)| match cell {
            &FilterCell::Index(id, index) if id == self.table.id => Some((index, fields)),
            _ => None,
        };
        let of = self.state.filters.iter().filter_map(cell).filter(|(index, _)| wanted.is_none_or(|w| w == *index));
        let of: BTreeMap<u64, &Vec<proto::DataField>> = of.collect();
        Ok(of.into_iter().map(|(index, fields)| (self.number_key(index), of_fields(fields.clone()))).collect())
    }

    fn nodes(&self) -> Result<Vec<Found>> {
        let wanted = self.number()?.map(|n| n as u32);
        let nodes = self.state.nodes.iter().filter(|(id, _)| wanted.is_none_or(|w| w == **id));
        Ok(nodes
            .map(|(id, node)| {
                let data = vec![
                    numeric(fixed::node::RID, Ty::Uint(16), &node.rid.into()),
                    numbers(fixed::node::LAGS, node.lags.iter().copied().collect()),
                    numbers(fixed::node::PORTS, node.ports.iter().copied().collect()),
                ];
                (self.number_key(u64::from(*id)), of_fields(data))
            })
            .collect())
    }

    fn multicast_groups(&self) -> Result<Vec<Found>> {
        let wanted = self.number()?;
        let groups = self.state.groups.iter().filter(|(id, _)| wanted.is_none_or(|w| w == u64::from(**id)));
        Ok(groups
            .map(|(id, found)| {
                use fixed::group::*;
                let mut data = Vec::new();
                for (all, [ids, valid, exclusion]) in [
                    (&found.nodes, [NODES, EXCLUSION_VALID, EXCLUSION]),
                    (&found.ecmps, [ECMPS, ECMP_EXCLUSION_VALID, ECMP_EXCLUSION]),
                ] {
                    data.push(numbers(ids, all.keys().copied().collect()));
                    data.push(truths(valid, all.values().map(Option::is_some).collect()));
                    data.push(numbers(exclusion, all.values().map(|xid| u32::from(xid.unwrap_or(0))).collect()));
                }
                (self.number_key(u64::from(*id)), of_fields(data))
            })
            .collect())
    }

    /// All level-2 exclusion ids: their entries are always there.
    fn pruned(&self) -> Result<Vec<Found>> {
        let wanted = self.number()?;
        let ids = (0..self.table.size as u32).filter(|id| wanted.is_none_or(|w| w == u64::from(*id)));
        let mut all: BTreeMap<u32, BTreeSet<u32>> = ids.map(|id| (id, BTreeSet::new())).collect();
        all.extend(self.state.pruned.iter().map(|(id, ports)| (*id, ports.clone())));
        self.lists(&all)
    }

    /// Entries that are lists of ports or nodes.
    fn lists(&self, all: &BTreeMap<u32, BTreeSet<u32>>) -> Result<Vec<Found>> {
        let wanted = self.number()?;
        let shown = all.iter().filter(|(id, _)| wanted.is_none_or(|w| w == u64::from(**id)));
        let remote: &[u32] = if self.table.object == Object::MulticastLags { &fixed::REMOTE } else { &[] };
        let data = |list: &BTreeSet<u32>| {
            let list = numbers(fixed::LIST, list.iter().copied().collect());
            of_fields(std::iter::once(list).chain(remote.iter().map(|field| word(*field, 0))).collect())
        };
        Ok(shown.map(|(id, list)| (self.number_key(u64::from(*id)), data(list))).collect())
    }

    /// Entries whose data were kept as written.
    fn stored<'s>(&self, entries: impl Iterator<Item = (u32, &'s Vec<proto::DataField>)>) -> Result<Vec<Found>> {
        let wanted = self.number()?;
        let action_id = self.table.actions.first().map_or(0, |a| a.id);
        Ok(entries
            .filter(|(id, _)| wanted.is_none_or(|w| w == u64::from(*id)))
            .map(|(id, data)| (self.number_key(u64::from(id)), TableData { action_id, fields: data.clone() }))
            .collect())
    }

    /// Applications of packet generators.
    fn applications(&self) -> Result<Vec<Found>> {
        let wanted = self.number()?;
        let pipes = write::pipes(self.pipe)?;
        let all = self.state.generators.applications.iter();
        let mut shown: BTreeMap<u8, Vec<_>> = BTreeMap::new();
        for ((id, _), app) in all.filter(|((_, pipe), _)| pipes.contains(pipe)) {
            shown.entry(*id).or_default().push(app);
        }
        let data = |apps: Vec<&crate::state::Application>| TableData {
            action_id: apps[0].action_id,
            fields: write::data_of(&apps),
        };
        let shown = shown.into_iter().filter(|(id, _)| wanted.is_none_or(|w| w == u64::from(*id)));
        Ok(shown.map(|(id, apps)| (self.number_key(u64::from(id)), data(apps))).collect())
    }

    /// A part of the packet buffer: no entries unless the request says which.
    fn packet_buffer(&self) -> Result<Vec<Found>> {
        let asked = key_fields(self.request);
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let (offset, size) = write::place(self.table, asked)?;
        let pipe = usize::from(write::pipes(self.pipe)?.start);
        let bytes = write::buffered(&self.state.generators.buffers[pipe], offset, size);
        let bytes = bytes.into_iter().map(u32::from).collect();
        Ok(vec![(asked.to_vec(), of_fields(vec![numbers(1, bytes)]))])
    }

    /// The members of a parser value set.
    fn value_set(&self) -> Result<Vec<Found>> {
        let exact = !key_fields(self.request).is_empty();
        let wanted = keyed(self.table, key_fields(self.request))?.fields;
        let members = write::value_set(self.device, self.table.id)?.into_iter().filter(|m| !exact || *m == wanted);
        let found = |fields| {
            let entry = EntryId { fields, ..EntryId::default() };
            (key_of(self.table, &entry).fields, TableData::default())
        };
        Ok(members.map(found).collect())
    }

    fn cpu_port(&self) -> Result<Vec<Found>> {
        self.stored(self.state.multicast_ports.iter().map(|(port, data)| (*port, data)))
    }
}

/// A field of an entry's key, as the controller wrote it: also if anything matches.
fn key_field(key: &Key, entry: &EntryId) -> proto::KeyField {
    let bits = key.ty.bits();
    let given = entry.fields.iter().find(|(id, _)| *id == key.id).map(|(_, value)| value);
    let of = |value: &BigUint| bytes(value, bits);
    let zero = BigUint::ZERO;
    use crate::schema::Matching;
    use wire::MatchType;
    let match_type = match (given, key.matching) {
        _ if key.id == field::MATCH_PRIORITY => {
            MatchType::Exact(wire::Exact { value: of(&write::priority(entry.priority).into()) })
        }
        (Some(MatchValue::Exact(value)), _) => MatchType::Exact(wire::Exact { value: of(value) }),
        (Some(MatchValue::Lpm { value, prefix_len }), _) => {
            MatchType::Lpm(wire::Lpm { value: of(value), prefix_len: *prefix_len as i32 })
        }
        (Some(MatchValue::Ternary { value, mask }), _) => {
            MatchType::Ternary(wire::Ternary { value: of(value), mask: of(mask) })
        }
        (Some(MatchValue::Range { lo, hi }), _) => MatchType::Range(wire::Range { low: of(lo), high: of(hi) }),
        (Some(MatchValue::Optional(Some(value))), _) => {
            MatchType::Optional(wire::Optional { value: of(value), is_valid: true })
        }
        (_, Matching::Exact) => MatchType::Exact(wire::Exact { value: of(&zero) }),
        (_, Matching::Lpm) => MatchType::Lpm(wire::Lpm { value: of(&zero), prefix_len: 0 }),
        (_, Matching::Ternary) => MatchType::Ternary(wire::Ternary { value: of(&zero), mask: of(&zero) }),
        (_, Matching::Range) => {
            let all = (BigUint::from(1u32) << bits) - 1u32;
            MatchType::Range(wire::Range { low: of(&zero), high: of(&all) })
        }
        (_, Matching::Optional) => MatchType::Optional(wire::Optional { value: of(&zero), is_valid: false }),
    };
    proto::KeyField { field_id: key.id, match_type: Some(match_type) }
}

/// Members in an order, as far as it names them; others stand behind.
fn ordered(mut members: Vec<(u32, bool)>, order: &[u32]) -> Vec<(u32, bool)> {
    let mut found = Vec::with_capacity(members.len());
    for wanted in order {
        if let Some(at) = members.iter().position(|(member, _)| member == wanted) {
            found.push(members.remove(at));
        }
    }
    found.extend(members);
    found
}

fn of_fields(fields: Vec<proto::DataField>) -> TableData {
    TableData { action_id: 0, fields }
}

fn word(id: u32, value: u32) -> proto::DataField {
    numeric(id, Ty::Uint(32), &value.into())
}

fn rates(rates: Option<Rates>, unit: MeterUnit, generation: Option<Generation>) -> Vec<proto::DataField> {
    write::rates_of(rates, unit, generation).map(|(id, n)| numeric(id, Ty::Uint(64), &n.into())).to_vec()
}

/// Cells of a register with the fields that they consist of: one, or all.
fn cells(model: &Model, id: u32, index: Option<u64>, fields: &[Field]) -> Result<Vec<(u64, Vec<proto::DataField>)>> {
    let register = object(&model.schema().registers, id, "register")?;
    let cells = model.control().register(register.cells.at)?;
    let mut all = Vec::new();
    for at in register.cells.range(index)? {
        let whole = cells.read(at)?;
        let mut below: u32 = fields.iter().map(|f| f.ty.bits()).sum();
        let fields = fields.iter().map(|f| {
            below -= f.ty.bits();
            let mask = (BigUint::from(1u32) << f.ty.bits()) - 1u32;
            numeric(f.id, f.ty, &((&whole >> below) & mask))
        });
        all.push((at, fields.collect()));
    }
    Ok(all)
}
