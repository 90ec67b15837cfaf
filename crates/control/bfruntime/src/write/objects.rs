//! Writes what tables refer to: members and groups of action profiles, counters, meters, registers.

use std::collections::BTreeMap;

use hopwright_control::entity::{Call, Cells, DefaultEntry};
use hopwright_control::schema::{Table, ValueSet, object};
use hopwright_control::{Entity, Operation, Target, Update};
use hopwright_dataplane::{ActionProfile, Count, EntryTarget, Rates};
use hopwright_ir::MatchValue;
use hopwright_p4runtime::Device;
use num_bigint::BigUint;

use super::{Effects, Request, call, keyed};
use crate::failure::{Result, exhausted, exists, invalid, not_found};
use crate::proto::{key_field::MatchType, update::Type as Kind};
use crate::schema::{Field, Generation, MeterUnit, field};
use crate::state::{Change, MAX_MEMBERS};
use crate::value::{Data, small};

/// A rate or burst that is no limit.
const NO_LIMIT: u64 = u64::MAX;
/// The largest count, rate or burst: P4Runtime, which shows them too, has signed numbers.
const MOST: u64 = i64::MAX as u64;
/// The largest burst of a Tofino's meter, in kilobits.
const METER_KBITS: u64 = 4_380_866_642;
/// Bytes in a kilobit.
const KILOBIT: u64 = 125;

impl Request<'_> {
    /// The number in the key of a table that has one.
    pub(super) fn number(&self) -> Result<u64> {
        let name = self.table.keys.first().map_or("", |k| k.name.as_str());
        self.optional_number()?.ok_or_else(|| invalid(format!("`{}`: `{name}` is missing", self.table.name)))
    }

    /// The same; `None` without a key.
    pub(super) fn optional_number(&self) -> Result<Option<u64>> {
        let Some(key) = self.table.keys.first() else { return Ok(None) };
        match self.key_fields() {
            [] => Ok(None),
            [one] if one.field_id == key.id => match &one.match_type {
                Some(MatchType::Exact(m)) => small(&key.name, key.ty.bits(), &m.value).map(Some),
                _ => Err(invalid(format!("`{}` is a number", key.name))),
            },
            _ => Err(invalid(format!("the key of `{}` is `{}`", self.table.name, key.name))),
        }
    }

    /// The cell of an array; all cells without a key.
    fn cell(&self, object: u32) -> Result<Cells> {
        Ok(Cells { object, index: self.optional_number()? })
    }

    /// Whether the update sets cells, and not to their initial value.
    fn sets(&self) -> Result<bool> {
        match self.kind {
            Kind::Insert | Kind::Modify | Kind::InsertOrModify => Ok(true),
            Kind::Delete | Kind::Reset => Ok(false),
            _ => Err(self.unsupported()),
        }
    }

    /// Looks at an action profile.
    fn profile<T>(&self, id: u32, look: impl FnOnce(ActionProfile<'_>) -> T) -> Result<T> {
        self.device.read_model(Some(id), |model| {
            let profile = object(&model.schema().action_profiles, id, "action profile")?;
            Ok(look(model.control().profile(profile.at)?))
        })
    }

    pub(super) fn member(&self) -> Result<Effects> {
        let profile = self.table.id;
        let member = |id, action| Entity::Member { profile, id, action };
        if self.kind == Kind::Delete && self.key_fields().is_empty() {
            let all = self.profile(profile, |profile| profile.members())?;
            let delete = |(id, _)| Update { operation: Operation::Delete, entity: member(id, None) };
            return Ok(Effects::new(all.into_iter().map(delete).collect(), Vec::new()));
        }
        let id = self.number()? as u32;
        let operation = match self.kind {
            Kind::Insert => Operation::Insert,
            Kind::Modify => Operation::Modify,
            Kind::InsertOrModify => match self.profile(profile, |profile| profile.member(id))? {
                Some(_) => Operation::Modify,
                None => Operation::Insert,
            },
            Kind::Delete if !self.defaults_of(profile, id)?.is_empty() => {
                return Err(invalid(format!("a default entry runs member {id} still")));
            }
            Kind::Delete => return Ok(Effects::update(Operation::Delete, member(id, None))),
            _ => return Err(self.unsupported()),
        };
        let data = self.entry.data.as_ref();
        let action_id = data.map_or(0, |d| d.action_id);
        let action = self.table.actions.iter().find(|a| a.id == action_id);
        let action =
            action.ok_or_else(|| invalid(format!("`{}` has no action with id {action_id}", self.table.name)))?;
        let values = Data::new(data, action.data.iter(), &self.table.name)?;
        let action = call(action, &values, &[])?;
        let mut effects = Effects::update(operation, member(id, Some(action.clone())));
        // Default entries that run the member are of its action.
        for table in self.defaults_of(profile, id)? {
            let entry = DefaultEntry { table, action: Some(action.clone()), ..DefaultEntry::default() };
            effects.updates.push(Update { operation: Operation::Modify, entity: Entity::Default(entry) });
        }
        Ok(effects)
    }

    /// Tables whose default entries run a member.
    fn defaults_of(&self, profile: u32, member: u32) -> Result<Vec<u32>> {
        let named = self.state.default_members.iter().filter(|(_, id)| **id == member).map(|(table, _)| *table);
        let named: Vec<u32> = named.collect();
        if named.is_empty() {
            return Ok(named);
        }
        self.device.read_model(Some(profile), |model| {
            let has = |table: &u32| model.schema().table(*table).is_ok_and(|t| t.profile == Some(profile));
            Ok(named.into_iter().filter(has).collect())
        })
    }

    /// The action of a member of the table's profile.
    pub(super) fn call_of_member(&self, member: u32) -> Result<Call> {
        let table = self.table.id;
        self.device.read_model(Some(table), |model| {
            let known = model.schema().table(table)?;
            let missing = || not_found(format!("`{}` has no member {member}", self.table.name));
            let profile = object(&model.schema().action_profiles, known.profile.unwrap_or_default(), "action profile")?;
            let call = model.control().profile(profile.at)?.member(member).ok_or_else(missing)?;
            let action = known.actions.iter().find(|a| a.at == call.action).ok_or_else(missing)?;
            Ok(Call { action: action.id, args: action.params.iter().map(|p| p.id).zip(call.args).collect() })
        })
    }

    pub(super) fn members_group(&self, profile: u32) -> Result<Effects> {
        let delete = |id| {
            let entity = Entity::Group { profile, id, members: Vec::new(), max_size: 0 };
            Update { operation: Operation::Delete, entity }
        };
        if self.kind == Kind::Delete && self.key_fields().is_empty() {
            let all = self.profile(profile, |profile| profile.groups())?;
            let changes = all.iter().flat_map(|(id, _)| forgotten((profile, *id))).collect();
            return Ok(Effects::new(all.into_iter().map(|(id, _)| delete(id)).collect(), changes));
        }
        let id = self.number()? as u32;
        let before = self.profile(profile, |profile| profile.group(id))?;
        let operation = match (self.kind, &before) {
            (Kind::Insert, Some(_)) => return Err(exists(format!("there is a group {id} already"))),
            (Kind::Insert, None) | (Kind::InsertOrModify, None) => Operation::Insert,
            (Kind::Modify | Kind::ModifyInc | Kind::Delete, None) => {
                return Err(not_found(format!("there is no group {id}")));
            }
            (Kind::Modify | Kind::ModifyInc | Kind::InsertOrModify, Some(_)) => Operation::Modify,
            (Kind::Delete, Some(_)) => {
                return Ok(Effects::new(vec![delete(id)], forgotten((profile, id)).to_vec()));
            }
            _ => return Err(self.unsupported()),
        };
        let data = self.data()?;
        let members_given = data.numbers(field::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID")?;
        let active = data.truths(field::ACTION_MEMBER_STATUS, "$ACTION_MEMBER_STATUS")?;
        let incremental = self.kind == Kind::ModifyInc;
        let removes = incremental && self.entry.table_flags.is_some_and(|f| f.mod_del);
        if !active.is_empty() && active.len() != members_given.len() {
            return Err(invalid("$ACTION_MEMBER_STATUS has as many values as $ACTION_MEMBER_ID"));
        }
        let is_active = |at: usize| active.get(at).copied().unwrap_or(true);
        let (mut in_use, mut inactive) = (BTreeMap::new(), BTreeMap::new());
        let keeps = operation == Operation::Modify && !data.names(field::ACTION_MEMBER_ID);
        if incremental || keeps {
            in_use = before.iter().flat_map(|g| g.members.iter().map(|(member, weight)| (*member, *weight))).collect();
            inactive = self.state.inactive.get(&(profile, id)).cloned().unwrap_or_default();
        }
        if incremental {
            for member in members_given {
                in_use.remove(member);
                inactive.remove(member);
            }
        }
        // A member that is given twice has twice the weight.
        for (at, member) in members_given.iter().enumerate().filter(|_| !removes) {
            *if is_active(at) { &mut in_use } else { &mut inactive }.entry(*member).or_insert(0) += 1;
        }
        if inactive.values().map(|times| *times as usize).sum::<usize>() > MAX_MEMBERS {
            return Err(exhausted(format!("no more than {MAX_MEMBERS} members of a group take no part in it")));
        }
        if in_use.is_empty() && operation == Operation::Modify && self.leads_to(profile, id)? {
            return Err(invalid(format!("entries lead to the group {id}, of which a member must be active")));
        }
        let most = data.small(field::MAX_GROUP_SIZE, "$MAX_GROUP_SIZE", 32)?.map(|most| most as u32);
        // A group's size does not change.
        let max_size = before.as_ref().map_or(most.unwrap_or(0), |g| g.max_size);
        let members = in_use.into_iter().collect();
        let update = Update { operation, entity: Entity::Group { profile, id, members, max_size } };
        let mut order = self.state.member_order.get(&(profile, id)).cloned().unwrap_or_default();
        match incremental || keeps {
            true => order.retain(|member| keeps || !members_given.contains(member)),
            false => order.clear(),
        }
        order.extend(members_given.iter().filter(|_| !removes));
        let changes = vec![Change::Inactive((profile, id), inactive), Change::MemberOrder((profile, id), order)];
        Ok(Effects::new(vec![update], changes))
    }

    /// Whether an entry of a table leads to a group.
    fn leads_to(&self, profile: u32, group: u32) -> Result<bool> {
        self.device.read_model(Some(profile), |model| {
            let mut tables = model.schema().tables.values().filter(|table| table.profile == Some(profile));
            let wanted = Some(Target::Profile(EntryTarget::Group(group)));
            let leads = |table: &Table| {
                let entries = model.control()[table.at].entries();
                entries.into_iter().any(|entry| model.target(&(table.at, entry.matches, entry.priority)) == wanted)
            };
            Ok(tables.any(leads))
        })
    }

    /// Checks that a group, if there is one, has a member that is active, as a group must to which an entry leads.
    pub(super) fn check_group(&self, group: u32) -> Result<()> {
        let table = self.table.id;
        self.device.read_model(Some(table), |model| {
            let Some(profile) = model.schema().table(table)?.profile else { return Ok(()) };
            let profile = object(&model.schema().action_profiles, profile, "action profile")?;
            match model.control().profile(profile.at)?.group(group) {
                Some(found) if found.members.is_empty() => {
                    Err(invalid(format!("the group {group} has no active member")))
                }
                _ => Ok(()),
            }
        })
    }

    pub(super) fn counter(&self) -> Result<Effects> {
        let cell = self.cell(self.table.id)?;
        let mut counts = Count::default();
        if self.sets()? {
            if let Some(index) = cell.index {
                counts = self.device.read_model(Some(cell.object), |model| {
                    let counter = object(&model.schema().counters, cell.object, "counter")?;
                    Ok(model.control().counter(counter.at)?.read(index)?)
                })?;
            }
            counts = count(&self.data()?, counts)?;
        }
        Ok(Effects::update(Operation::Modify, Entity::Counter(cell, counts)))
    }

    pub(super) fn meter(&self, unit: MeterUnit) -> Result<Effects> {
        let rates = if self.sets()? { rates(&self.data()?, unit)? } else { None };
        Ok(Effects::update(Operation::Modify, Entity::Meter(self.cell(self.table.id)?, rates)))
    }

    pub(super) fn register(&self) -> Result<Effects> {
        self.register_cell(self.table.id)
    }

    /// The one cell of a parameter, which is the default entry of its table.
    pub(super) fn register_param(&self) -> Result<Effects> {
        let id = self.table.id;
        let value = match self.sets()? {
            true => joined(&self.table.data, &self.data()?)?,
            false => initial(self.device, id)?,
        };
        Ok(register(Cells { object: id, index: Some(0) }, value))
    }

    /// The fields of port metadata are in the highest bits of a cell. Entries are those that were written.
    pub(super) fn port_metadata(&self, object: Option<u32>, bits: u32) -> Result<Effects> {
        let table = self.table.id;
        let ports = match (self.optional_number()?, self.kind) {
            (Some(port), _) if port >= self.table.size => {
                return Err(invalid(format!("ports have numbers up to {}", self.table.size - 1)));
            }
            (Some(port), _) => vec![port as u32],
            (None, Kind::Delete | Kind::Reset) => {
                self.state.port_metadata.range((table, 0)..=(table, u32::MAX)).map(|((_, port), _)| *port).collect()
            }
            (None, _) => return Err(invalid(format!("`{}`: the port is missing", self.table.name))),
        };
        let mut effects = Effects::default();
        for port in ports {
            let (value, kept) = match self.sets()? {
                true => {
                    let unused = bits - self.table.data.iter().map(|f| f.ty.bits()).sum::<u32>();
                    (joined(&self.table.data, &self.data()?)? << unused, Some(self.kept()?))
                }
                false => (BigUint::ZERO, None),
            };
            if let Some(object) = object {
                let cells = Cells { object, index: Some(port.into()) };
                effects.updates.extend(register(cells, value).updates);
            }
            effects.changes.push(Change::PortMetadata((table, port), kept));
        }
        Ok(effects)
    }

    fn register_cell(&self, id: u32) -> Result<Effects> {
        let value = match self.sets()? {
            true => joined(&self.table.data, &self.data()?)?,
            false => initial(self.device, id)?,
        };
        Ok(register(self.cell(id)?, value))
    }

    /// What the request sets in cells of the entry. It gives all fields of a cell or none.
    pub(super) fn cells(&self, key: &hopwright_control::entity::Key) -> Result<Vec<Update>> {
        let data = self.entry.data.as_ref();
        let mut cells = Vec::new();
        for register in &self.table.registers {
            let fields = &register.fields;
            let given = data.is_some_and(|d| d.fields.iter().any(|f| fields.iter().any(|k| k.id == f.field_id)));
            if given {
                let actions = self.table.actions.iter().flat_map(|a| &a.data);
                let values = Data::new(data, actions.chain(&self.table.data), &self.table.name)?;
                let (key, value) = (key.clone(), joined(fields, &values)?);
                let entity = Entity::EntryRegister { key, register: register.id, value };
                cells.push(Update { operation: Operation::Modify, entity });
            }
        }
        Ok(cells)
    }

    /// The model has all members of a value set together.
    pub(super) fn value_set(&self) -> Result<Effects> {
        let id = self.table.id;
        let mut members = match self.state.value_sets.get(&id) {
            Some(members) => members.clone(),
            None => value_set(self.device, id)?,
        };
        if self.kind == Kind::Delete && self.key_fields().is_empty() {
            members.clear();
        } else {
            let member = keyed(self.table, self.key_fields())?.fields;
            let name = &self.table.name;
            match (self.kind, members.iter().position(|m| *m == member)) {
                (Kind::Insert, Some(_)) => return Err(exists(format!("`{name}` has this member already"))),
                (Kind::Insert | Kind::InsertOrModify, None) if members.len() as u64 >= self.table.size => {
                    return Err(exhausted(format!("`{name}` has {} members", self.table.size)));
                }
                (Kind::Insert | Kind::InsertOrModify, None) => members.push(member),
                // There is nothing but the key.
                (Kind::Modify | Kind::InsertOrModify, Some(_)) => {}
                (Kind::Delete, Some(at)) => drop(members.remove(at)),
                (Kind::Modify | Kind::Delete, None) => return Err(not_found(format!("`{name}` has no such member"))),
                _ => return Err(self.unsupported()),
            }
        }
        let entity = Entity::ValueSet(id, members.clone());
        let update = Update { operation: Operation::Modify, entity };
        Ok(Effects::new(vec![update], vec![Change::ValueSet(id, members)]))
    }
}

/// What is kept of a group that has gone.
fn forgotten(group: (u32, u32)) -> [Change; 2] {
    [Change::Inactive(group, BTreeMap::new()), Change::MemberOrder(group, Vec::new())]
}

/// The members of a value set.
pub(crate) fn value_set(device: &Device, id: u32) -> Result<Vec<Vec<(u32, MatchValue)>>> {
    device.read_model(Some(id), |model| {
        let set: &ValueSet = object(&model.schema().value_sets, id, "value set")?;
        Ok(model.control().value_set(set.at)?.read().iter().map(|member| set.given(member)).collect())
    })
}

/// What the cells of a register hold at first.
fn initial(device: &Device, id: u32) -> Result<BigUint> {
    device.read_model(Some(id), |model| {
        let at = model.extern_object(id)?;
        Ok(model.vdp().pipeline()[at].initial.clone())
    })
}

/// Fields as one number, the first one in the highest bits.
fn joined(fields: &[Field], data: &Data<'_>) -> Result<BigUint> {
    let mut whole = BigUint::ZERO;
    for field in fields {
        let value = data.number(field)?.ok_or_else(|| invalid(format!("`{}` is missing", field.name)))?;
        whole = (whole << field.ty.bits()) | value;
    }
    Ok(whole)
}

/// Sets cells of a register.
pub(crate) fn register(cells: Cells, value: BigUint) -> Effects {
    Effects::update(Operation::Modify, Entity::Register(cells, value))
}

/// Counts of which a request may give only one.
pub(super) fn count(data: &Data<'_>, before: Count) -> Result<Count> {
    let number = |id, name, before| -> Result<u64> { Ok(data.small(id, name, 64)?.map_or(before, |n| n.min(MOST))) };
    Ok(Count {
        bytes: number(field::COUNTER_BYTES, "$COUNTER_SPEC_BYTES", before.bytes)?,
        packets: number(field::COUNTER_PACKETS, "$COUNTER_SPEC_PKTS", before.packets)?,
    })
}

/// The fields of a meter's CIR, PIR, CBS and PBS, and the factor of their unit.
fn rate_fields(unit: MeterUnit) -> ([u32; 4], u64) {
    match unit {
        MeterUnit::Bytes => ([field::CIR_KBPS, field::PIR_KBPS, field::CBS_KBITS, field::PBS_KBITS], KILOBIT),
        MeterUnit::Packets => ([field::CIR_PPS, field::PIR_PPS, field::CBS_PKTS, field::PBS_PKTS], 1),
    }
}

/// The rates of a meter; `None` if there are none or none is a limit.
pub(super) fn rates(data: &Data<'_>, unit: MeterUnit) -> Result<Option<Rates>> {
    let (fields, factor) = rate_fields(unit);
    let mut values = [NO_LIMIT; 4];
    for (value, id) in values.iter_mut().zip(fields) {
        *value = data.small(id, "a meter's rate or burst", 64)?.unwrap_or(NO_LIMIT);
    }
    if values == [NO_LIMIT; 4] {
        return Ok(None);
    }
    let [cir, pir, cburst, pburst] = values.map(|value| value.saturating_mul(factor).min(MOST));
    Ok(Some(Rates { cir, cburst, pir, pburst }))
}

/// The rates of a meter as numbers of its fields: CIR, PIR, CBS, PBS.
pub(crate) fn rates_of(rates: Option<Rates>, unit: MeterUnit, generation: Option<Generation>) -> [(u32, u64); 4] {
    let ([cir, pir, cburst, pburst], factor) = rate_fields(unit);
    let Some(rates) = rates else {
        // The most that a Tofino's meter can have, as Intel's driver rounds it.
        let (rate, burst) = match (unit, generation) {
            (MeterUnit::Bytes, Some(generation)) => (generation.meter_kbps, METER_KBITS),
            _ => (NO_LIMIT, NO_LIMIT),
        };
        return [(cir, rate), (pir, rate), (cburst, burst), (pburst, burst)];
    };
    let value = |n: u64| if n == MOST { NO_LIMIT } else { n / factor };
    [(cir, rates.cir), (pir, rates.pir), (cburst, rates.cburst), (pburst, rates.pburst)].map(|(id, n)| (id, value(n)))
}
