//! The updates that lead from a program's initial state to another one.

use std::collections::HashMap;

use hopwright_control::{Model, SharedModel};
use prost::Message as _;

use crate::codec;
use crate::failure::{Result, invalid};
use crate::program::{EnginePolicy, Program};
use crate::proto::v1;
use crate::read;
use v1::entity::Entity;
use v1::packet_replication_engine_entry::Type as Copies;
use v1::table_action::Type as Acts;
use v1::update::Type;

impl Program {
    /// The updates that a controller makes for what `change` does with the program's initial state, in an order in which each is made. Members and groups are numbered from 1, even if `change` begins with 0.
    ///
    /// # Errors
    /// Those of `change`, P4Runtime refuses what it did, or the interpreter does not run the program.
    pub fn updates_of<E: std::fmt::Display>(
        &self,
        change: impl FnOnce(&SharedModel) -> std::result::Result<(), E>,
    ) -> Result<Vec<v1::Update>> {
        let model = SharedModel::new(self.initial_model()?);
        let before = everything(&model.lock())?;
        change(&model).map_err(|error| invalid(error.to_string()))?;
        let after = everything(&model.lock())?;
        let by_key = |all: &[Entity]| all.iter().map(|e| (key(e), e.clone())).collect::<HashMap<_, _>>();
        let (there, wanted) = (by_key(&before), by_key(&after));
        let gone = before.iter().rev().filter(|entity| !wanted.contains_key(&key(entity)));
        let mut updates: Vec<v1::Update> = gone.map(|entity| update(Type::Delete, entity.clone())).collect();
        for entity in after {
            match there.get(&key(&entity)) {
                None => updates.push(update(Type::Insert, entity)),
                Some(old) if *old != entity => updates.push(update(Type::Modify, entity)),
                Some(_) => {}
            }
        }
        number_from_one(&mut updates);
        self.ordered(updates)
    }

    /// Updates in an order in which each is made: after those that it refers to. They are made of the initial state to find it.
    fn ordered(&self, mut updates: Vec<v1::Update>) -> Result<Vec<v1::Update>> {
        let mut model = self.initial_model()?;
        let mut ordered = Vec::with_capacity(updates.len());
        while !updates.is_empty() {
            let results = model.write_each(&updates, codec::update);
            let (made, refused): (Vec<_>, Vec<_>) =
                updates.into_iter().zip(results).partition(|(_, result)| result.is_ok());
            if let ([], Some((_, Err(failure)))) = (made.as_slice(), refused.first()) {
                return Err(failure.clone());
            }
            ordered.extend(made.into_iter().map(|(update, _)| update));
            updates = refused.into_iter().map(|(update, _)| update).collect();
        }
        Ok(ordered)
    }

    pub(crate) fn initial_model(&self) -> Result<Model> {
        Ok(Model::new(self.schema.model.clone(), self.data_plane(EnginePolicy::Interp)?))
    }
}

pub(crate) fn update(kind: Type, entity: Entity) -> v1::Update {
    v1::Update { r#type: kind.into(), entity: Some(v1::Entity { entity: Some(entity) }) }
}

/// All that controllers can write.
fn everything(model: &Model) -> Result<Vec<Entity>> {
    let entries = v1::TableEntry {
        counter_data: Some(v1::CounterData::default()),
        meter_config: Some(v1::MeterConfig::default()),
        ..Default::default()
    };
    let defaults = v1::TableEntry { is_default_action: true, ..Default::default() };
    let mut found = Vec::new();
    for asked in [
        Entity::ActionProfileMember(Default::default()),
        Entity::ActionProfileGroup(Default::default()),
        Entity::TableEntry(entries),
        Entity::TableEntry(defaults),
        Entity::CounterEntry(Default::default()),
        Entity::MeterEntry(Default::default()),
        Entity::RegisterEntry(Default::default()),
        Entity::ValueSetEntry(Default::default()),
        Entity::DigestEntry(Default::default()),
        Entity::PacketReplicationEngineEntry(Default::default()),
    ] {
        read::read(model, &asked, &mut found)?;
    }
    // A time is no part of an entry, and a counter is none of a new one that has not been counted.
    for entity in &mut found {
        if let Entity::TableEntry(entry) = entity {
            entry.counter_data = entry.counter_data.filter(|count| *count != v1::CounterData::default());
        }
    }
    Ok(found)
}

/// What identifies an entity.
pub(crate) fn key(entity: &Entity) -> Vec<u8> {
    let mut key = entity.clone();
    match &mut key {
        Entity::TableEntry(e) => {
            *e = v1::TableEntry {
                table_id: e.table_id,
                r#match: std::mem::take(&mut e.r#match),
                priority: e.priority,
                is_default_action: e.is_default_action,
                ..Default::default()
            };
        }
        Entity::ActionProfileMember(member) => member.action = None,
        Entity::ActionProfileGroup(group) => (group.members, group.max_size) = (Vec::new(), 0),
        Entity::CounterEntry(counter) => counter.data = None,
        Entity::MeterEntry(meter) => meter.config = None,
        Entity::RegisterEntry(register) => register.data = None,
        Entity::ValueSetEntry(set) => set.members.clear(),
        Entity::DigestEntry(digest) => digest.config = None,
        Entity::PacketReplicationEngineEntry(entry) => match &mut entry.r#type {
            Some(Copies::MulticastGroupEntry(group)) => group.replicas.clear(),
            Some(Copies::CloneSessionEntry(session)) => {
                (session.replicas, session.packet_length_bytes) = (Vec::new(), 0)
            }
            None => {}
        },
        _ => {}
    }
    v1::Entity { entity: Some(key) }.encode_to_vec()
}

/// Adds one to the numbers of members and groups if there is a number 0, which P4Runtime does not have.
fn number_from_one(updates: &mut [v1::Update]) {
    let entities = || updates.iter().filter_map(|update| update.entity.as_ref()?.entity.as_ref());
    let zero = |entity: &Entity| match entity {
        Entity::ActionProfileMember(member) => member.member_id == 0,
        Entity::ActionProfileGroup(group) => group.group_id == 0,
        _ => false,
    };
    if !entities().any(zero) {
        return;
    }
    for entity in updates.iter_mut().filter_map(|update| update.entity.as_mut()?.entity.as_mut()) {
        match entity {
            Entity::ActionProfileMember(member) => member.member_id += 1,
            Entity::ActionProfileGroup(group) => {
                group.group_id += 1;
                group.members.iter_mut().for_each(|member| member.member_id += 1);
            }
            Entity::TableEntry(entry) => {
                let target = entry.action.as_mut().and_then(|action| action.r#type.as_mut());
                if let Some(Acts::ActionProfileMemberId(id) | Acts::ActionProfileGroupId(id)) = target {
                    *id += 1;
                }
            }
            _ => {}
        }
    }
}
