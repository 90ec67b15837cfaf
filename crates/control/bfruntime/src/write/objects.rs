//! Writes what tables refer to: members and groups of action profiles, counters, meters, registers.

use std::collections::BTreeSet;

use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Device, Write};
use num_bigint::BigUint;
use v1::entity::Entity;
use v1::p4_data::Data as P4;
use v1::update::Type;

use super::{Effects, Request, param};
use crate::failure::{Result, exhausted, exists, invalid, not_found};
use crate::proto::{key_field::MatchType, update::Type as Kind};
use crate::schema::{Field, MeterUnit, Ty, field};
use crate::state::{Change, MAX_MEMBERS};
use crate::value::{Data, small};

/// A rate or burst that is no limit.
const NO_LIMIT: u64 = u64::MAX;
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

    /// The cell of an array; `None` for all cells.
    fn index(&self) -> Result<Option<v1::Index>> {
        Ok(self.optional_number()?.map(|index| v1::Index { index: index as i64 }))
    }

    /// Whether the update sets cells, and not to their initial value.
    fn sets(&self) -> Result<bool> {
        match self.kind {
            Kind::Insert | Kind::Modify | Kind::InsertOrModify => Ok(true),
            Kind::Delete | Kind::Reset => Ok(false),
            _ => Err(self.unsupported()),
        }
    }

    pub(super) fn member(&self) -> Result<Effects> {
        let profile = self.table.id;
        if self.kind == Kind::Delete && self.key_fields().is_empty() {
            let all = v1::ActionProfileMember { action_profile_id: profile, ..Default::default() };
            return self.delete_found(&Entity::ActionProfileMember(all));
        }
        let id = self.number()? as u32;
        let mut member = v1::ActionProfileMember { action_profile_id: profile, member_id: id, action: None };
        let there = || -> Result<bool> {
            let wanted = Entity::ActionProfileMember(member.clone());
            Ok(!self.device.read_entity(&wanted)?.is_empty())
        };
        let kind = match self.kind {
            Kind::Insert => Type::Insert,
            Kind::Modify => Type::Modify,
            Kind::InsertOrModify if there()? => Type::Modify,
            Kind::InsertOrModify => Type::Insert,
            Kind::Delete => return Ok(Effects::update(Type::Delete, Entity::ActionProfileMember(member))),
            _ => return Err(self.unsupported()),
        };
        let data = self.entry.data.as_ref();
        let action_id = data.map_or(0, |d| d.action_id);
        let action = self.table.actions.iter().find(|a| a.id == action_id);
        let action =
            action.ok_or_else(|| invalid(format!("`{}` has no action with id {action_id}", self.table.name)))?;
        let values = Data::new(data, action.data.iter(), &self.table.name)?;
        let params = action.data.iter().map(|f| param(&values, f)).collect::<Result<_>>()?;
        member.action = Some(v1::Action { action_id, params });
        Ok(Effects::update(kind, Entity::ActionProfileMember(member)))
    }

    fn delete_found(&self, wanted: &Entity) -> Result<Effects> {
        let found = self.device.read_entity(wanted)?;
        let updates = found.into_iter().map(|e| super::v1_update(Type::Delete, e)).collect();
        Ok(Effects::new(updates, Vec::new()))
    }

    pub(super) fn members_group(&self, profile: u32) -> Result<Effects> {
        if self.kind == Kind::Delete && self.key_fields().is_empty() {
            let all = v1::ActionProfileGroup { action_profile_id: profile, ..Default::default() };
            let mut effects = self.delete_found(&Entity::ActionProfileGroup(all))?;
            let of = self.state.inactive.keys().filter(|(p, _)| *p == profile);
            effects.changes.extend(of.map(|group| Change::Inactive(*group, BTreeSet::new())));
            return Ok(effects);
        }
        let id = self.number()? as u32;
        let mut group = v1::ActionProfileGroup { action_profile_id: profile, group_id: id, ..Default::default() };
        let found = self.device.read_entity(&Entity::ActionProfileGroup(group.clone()))?;
        let before = found.into_iter().find_map(|e| match e {
            Entity::ActionProfileGroup(group) => Some(group),
            _ => None,
        });
        let kind = match (self.kind, &before) {
            (Kind::Insert, Some(_)) => return Err(exists(format!("there is a group {id} already"))),
            (Kind::Insert, None) | (Kind::InsertOrModify, None) => Type::Insert,
            (Kind::Modify | Kind::ModifyInc | Kind::Delete, None) => {
                return Err(not_found(format!("there is no group {id}")));
            }
            (Kind::Modify | Kind::ModifyInc | Kind::InsertOrModify, Some(_)) => Type::Modify,
            (Kind::Delete, Some(_)) => {
                let mut effects = Effects::update(Type::Delete, Entity::ActionProfileGroup(group));
                effects.changes.push(Change::Inactive((profile, id), BTreeSet::new()));
                return Ok(effects);
            }
            _ => return Err(self.unsupported()),
        };
        let data = self.data()?;
        let members = data.numbers(field::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID")?;
        let active = data.truths(field::ACTION_MEMBER_STATUS, "$ACTION_MEMBER_STATUS")?;
        let incremental = self.kind == Kind::ModifyInc;
        let removes = incremental && self.entry.table_flags.is_some_and(|f| f.mod_del);
        if !active.is_empty() && active.len() != members.len() {
            return Err(invalid("$ACTION_MEMBER_STATUS has as many values as $ACTION_MEMBER_ID"));
        }
        let is_active = |at: usize| active.get(at).copied().unwrap_or(true);
        let (mut in_use, mut inactive) = (BTreeSet::new(), BTreeSet::new());
        if incremental || members.is_empty() && kind == Type::Modify {
            in_use = before.iter().flat_map(|g| &g.members).map(|m| m.member_id).collect();
            inactive = self.state.inactive.get(&(profile, id)).cloned().unwrap_or_default();
        }
        for (at, member) in members.iter().enumerate() {
            in_use.remove(member);
            inactive.remove(member);
            match (removes, is_active(at)) {
                (true, _) => {}
                (false, true) => drop(in_use.insert(*member)),
                (false, false) => drop(inactive.insert(*member)),
            }
        }
        if inactive.len() > MAX_MEMBERS {
            return Err(exhausted(format!("no more than {MAX_MEMBERS} members of a group take no part in it")));
        }
        let one = |member_id| v1::action_profile_group::Member { member_id, weight: 1, watch_kind: None };
        group.members = in_use.into_iter().map(one).collect();
        let most = data.small(field::MAX_GROUP_SIZE, "$MAX_GROUP_SIZE", 32)?;
        let most = most.map(|n| i32::try_from(n).unwrap_or(i32::MAX));
        // P4Runtime does not change a group's size.
        group.max_size = before.as_ref().map_or(most.unwrap_or(0), |g| g.max_size);
        let mut effects = Effects::update(kind, Entity::ActionProfileGroup(group));
        effects.changes.push(Change::Inactive((profile, id), inactive));
        Ok(effects)
    }

    pub(super) fn counter(&self) -> Result<Effects> {
        let (counter_id, index) = (self.table.id, self.index()?);
        let data = if self.sets()? {
            let mut before = v1::CounterData::default();
            let wanted = v1::CounterEntry { counter_id, index, data: None };
            if let (Some(_), [Entity::CounterEntry(found)]) =
                (index, self.device.read_entity(&Entity::CounterEntry(wanted))?.as_slice())
            {
                before = found.data.unwrap_or_default();
            }
            count(&self.data()?, before)?
        } else {
            v1::CounterData::default()
        };
        let entry = v1::CounterEntry { counter_id, index, data: Some(data) };
        Ok(Effects::update(Type::Modify, Entity::CounterEntry(entry)))
    }

    pub(super) fn meter(&self, unit: MeterUnit) -> Result<Effects> {
        let config = if self.sets()? { rates(&self.data()?, unit)? } else { None };
        let entry = v1::MeterEntry { meter_id: self.table.id, index: self.index()?, config, counter_data: None };
        Ok(Effects::update(Type::Modify, Entity::MeterEntry(entry)))
    }

    pub(super) fn register(&self) -> Result<Effects> {
        let fields = &self.table.data;
        let value = if self.sets()? { joined(fields, &self.data()?)? } else { BigUint::ZERO };
        Ok(register(self.table.id, self.index()?, cell(fields, value)))
    }

    /// What the request sets in cells of the entry. It gives all fields of a cell or none.
    pub(super) fn cells(&self, entry: &v1::TableEntry) -> Result<Vec<Write>> {
        let data = self.entry.data.as_ref();
        let mut cells = Vec::new();
        for register in &self.table.registers {
            let fields = &register.fields;
            let given = data.is_some_and(|d| d.fields.iter().any(|f| fields.iter().any(|k| k.id == f.field_id)));
            if given {
                let actions = self.table.actions.iter().flat_map(|a| &a.data);
                let values = Data::new(data, actions.chain(&self.table.data), &self.table.name)?;
                let data = v1::P4Data { data: Some(cell(fields, joined(fields, &values)?)) };
                cells.push(Write::EntryRegister { entry: entry.clone(), register_id: register.id, data });
            }
        }
        Ok(cells)
    }

    /// P4Runtime writes all members of a value set together.
    pub(super) fn value_set(&self) -> Result<Effects> {
        let id = self.table.id;
        let mut members = match self.state.value_sets.get(&id) {
            Some(members) => members.clone(),
            None => value_set(self.device, id)?,
        };
        if self.kind == Kind::Delete && self.key_fields().is_empty() {
            members.clear();
        } else {
            let member = v1::ValueSetMember { r#match: self.keyed()?.r#match };
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
        let set = v1::ValueSetEntry { value_set_id: id, members: members.clone() };
        let update = super::v1_update(Type::Modify, Entity::ValueSetEntry(set));
        Ok(Effects::new(vec![update], vec![Change::ValueSet(id, members)]))
    }

    pub(super) fn port_metadata(&self, id: u32) -> Result<Effects> {
        let value = if self.sets()? { joined(&self.table.data, &self.data()?)? } else { BigUint::ZERO };
        Ok(register(id, self.index()?, P4::Bitstring(value.to_bytes_be().into())))
    }
}

/// The members of a value set.
pub(crate) fn value_set(device: &Device, id: u32) -> Result<Vec<v1::ValueSetMember>> {
    let asked = Entity::ValueSetEntry(v1::ValueSetEntry { value_set_id: id, members: Vec::new() });
    let sets = device.read_entity(&asked)?.into_iter().filter_map(|entity| match entity {
        Entity::ValueSetEntry(set) => Some(set.members),
        _ => None,
    });
    Ok(sets.flatten().collect())
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

/// The value of a cell that consists of these fields.
fn cell(fields: &[Field], value: BigUint) -> P4 {
    match fields {
        [one] if one.ty == Ty::Bool => P4::Bool(value != BigUint::ZERO),
        _ => P4::Bitstring(value.to_bytes_be().into()),
    }
}

/// Sets cells of a register.
pub(super) fn register(register_id: u32, index: Option<v1::Index>, data: P4) -> Effects {
    let data = Some(v1::P4Data { data: Some(data) });
    Effects::update(Type::Modify, Entity::RegisterEntry(v1::RegisterEntry { register_id, index, data }))
}

/// Counts of which a request may give only one.
pub(super) fn count(data: &Data<'_>, before: v1::CounterData) -> Result<v1::CounterData> {
    let number = |id, name, before| -> Result<i64> {
        let value = data.small(id, name, 64)?;
        Ok(value.map_or(before, |n| i64::try_from(n).unwrap_or(i64::MAX)))
    };
    Ok(v1::CounterData {
        byte_count: number(field::COUNTER_BYTES, "$COUNTER_SPEC_BYTES", before.byte_count)?,
        packet_count: number(field::COUNTER_PACKETS, "$COUNTER_SPEC_PKTS", before.packet_count)?,
    })
}

/// The rates of a meter; `None` if there are none or none is a limit.
pub(super) fn rates(data: &Data<'_>, unit: MeterUnit) -> Result<Option<v1::MeterConfig>> {
    let (fields, factor) = match unit {
        MeterUnit::Bytes => ([field::CIR_KBPS, field::PIR_KBPS, field::CBS_KBITS, field::PBS_KBITS], KILOBIT),
        MeterUnit::Packets => ([field::CIR_PPS, field::PIR_PPS, field::CBS_PKTS, field::PBS_PKTS], 1),
    };
    let mut values = [NO_LIMIT; 4];
    for (value, id) in values.iter_mut().zip(fields) {
        *value = data.small(id, "a meter's rate or burst", 64)?.unwrap_or(NO_LIMIT);
    }
    if values == [NO_LIMIT; 4] {
        return Ok(None);
    }
    let [cir, pir, cburst, pburst] =
        values.map(|value| i64::try_from(value).map_or(i64::MAX, |n| n.saturating_mul(factor as i64)));
    Ok(Some(v1::MeterConfig { cir, cburst, pir, pburst, ..Default::default() }))
}

/// The rates of a meter as numbers of its fields: CIR, PIR, CBS, PBS.
pub(crate) fn rates_of(config: Option<&v1::MeterConfig>, unit: MeterUnit) -> [(u32, u64); 4] {
    let (fields, factor) = match unit {
        MeterUnit::Bytes => ([field::CIR_KBPS, field::PIR_KBPS, field::CBS_KBITS, field::PBS_KBITS], KILOBIT),
        MeterUnit::Packets => ([field::CIR_PPS, field::PIR_PPS, field::CBS_PKTS, field::PBS_PKTS], 1),
    };
    let Some(c) = config else { return fields.map(|id| (id, NO_LIMIT)) };
    let value = |n: i64| if n == i64::MAX { NO_LIMIT } else { n.max(0) as u64 / factor };
    let [a, b, d, e] = fields;
    [(a, value(c.cir)), (b, value(c.pir)), (d, value(c.cburst)), (e, value(c.pburst))]
}
