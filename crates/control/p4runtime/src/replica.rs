//! What a switch elsewhere is to have: a data plane without packets, which an agent writes as it writes one of its own.
//!
//! [`client::Controller`](crate::client::Controller) makes the switch equal to it. Only some objects are compared: others may have
//! entries of somebody else.

use std::collections::HashMap;
use std::sync::Arc;

use ::bytes::Bytes;
use hopwright_control::SharedModel;
use hopwright_dataplane::{Control, Count};

use crate::client::{Either, Names};
use crate::codec::{self, Encode};
use crate::difference::{key, update};
use crate::failure::{Result, invalid};
use crate::program::Program;
use crate::proto::config::P4Info;
use crate::proto::v1;
use crate::read;
use v1::entity::Entity;
use v1::field_match::FieldMatchType;
use v1::table_action::Type as Acts;
use v1::update::Type;

/// A program's state that a switch elsewhere is to have.
pub struct Replica {
    program: Program,
    control: Arc<Control>,
    model: SharedModel,
    /// Requests for the objects that are compared.
    requests: Vec<Entity>,
    /// Requests for counters, with their names here.
    counters: Vec<(Entity, String)>,
}

impl Replica {
    /// The initial state of a program. `objects` are names of tables and value sets, in the order in which entries are added: what an
    /// entry leads to comes before it. An action profile comes with its table.
    ///
    /// # Errors
    /// The program has no such object, or the interpreter does not run it.
    pub fn new(program: Program, objects: &[&str]) -> Result<Replica> {
        let names = Names::new(program.config.p4info.clone().unwrap_or_default());
        let id = |preamble: &Option<crate::proto::config::Preamble>| preamble.as_ref().map_or(0, |p| p.id);
        let mut requests = Vec::new();
        for name in objects {
            if let Ok(set) = names.value_set(name) {
                let value_set_id = id(&set.preamble);
                requests.push(Entity::ValueSetEntry(v1::ValueSetEntry { value_set_id, ..Default::default() }));
                continue;
            }
            let table = names.table(name).map_err(|error| invalid(error.to_string()))?;
            let action_profile_id = table.implementation_id;
            if action_profile_id != 0 {
                let member = v1::ActionProfileMember { action_profile_id, ..Default::default() };
                let group = v1::ActionProfileGroup { action_profile_id, ..Default::default() };
                requests.extend([Entity::ActionProfileMember(member), Entity::ActionProfileGroup(group)]);
            }
            let table_id = id(&table.preamble);
            requests.push(Entity::TableEntry(v1::TableEntry { table_id, ..Default::default() }));
        }
        let mut program = program;
        program.config.cookie =
            Some(v1::forwarding_pipeline_config::Cookie { cookie: cookie(&program.config.p4_device_config) });
        let model = program.initial_model()?;
        let control = model.vdp().control().clone();
        Ok(Replica { program, control, model: SharedModel::new(model), requests, counters: Vec::new() })
    }

    /// The same with arrays of counters that become those of the switch.
    ///
    /// # Errors
    /// The program has no such array.
    pub fn with_counters(mut self, counters: &[&str]) -> Result<Replica> {
        let names = Names::new(self.program.config.p4info.clone().unwrap_or_default());
        for name in counters {
            let found = names.counter(name).map_err(|error| invalid(error.to_string()))?;
            let Either::Array(crate::proto::config::Counter { preamble: Some(preamble), .. }) = found else {
                return Err(invalid(format!("`{name}` is no array of counters")));
            };
            let request = v1::CounterEntry { counter_id: preamble.id, ..Default::default() };
            self.counters.push((Entity::CounterEntry(request), (*name).to_string()));
        }
        Ok(self)
    }

    /// What an agent writes.
    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }

    /// Everything that the switch is to have now.
    ///
    /// # Errors
    /// If something has no form in P4Runtime.
    pub fn entities(&self) -> Result<Vec<Entity>> {
        let model = self.model.lock();
        let mut found = Vec::new();
        for request in &self.requests {
            read::read(&model, request, &mut found)?;
        }
        Ok(canonical(found))
    }

    pub(crate) fn requests(&self) -> &[Entity] {
        &self.requests
    }

    pub(crate) fn counters(&self) -> &[(Entity, String)] {
        &self.counters
    }

    /// Takes what cells of a counter are at the switch.
    pub(crate) fn count(&self, name: &str, cells: &[Entity]) {
        let Ok(counter) = self.control.counter(name) else { return };
        for cell in cells {
            if let Entity::CounterEntry(v1::CounterEntry { index: Some(index), data: Some(data), .. }) = cell {
                let count = Count { packets: data.packet_count as u64, bytes: data.byte_count as u64 };
                // A larger array than the program has.
                let _ = counter.write(index.index as u64, count);
            }
        }
    }

    pub(crate) fn config(&self) -> &v1::ForwardingPipelineConfig {
        &self.program.config
    }

    /// Checks that a switch's program has everything that this one has.
    pub(crate) fn check_info(&self, other: &P4Info) -> Result<()> {
        let ours = self.program.config.p4info.as_ref();
        ours.map_or(Ok(()), |ours| crate::program::same_objects(ours, other))
    }

    /// A packet as the program sends it to its CPU port.
    pub(crate) fn packet_in(&self, packet: &v1::PacketIn) -> Result<Vec<u8>> {
        self.model.lock().translate(|_, translate| codec::packet_in(&self.program.schema, translate, packet))
    }

    /// A packet as the program receives it from its CPU port. `None` if it is shorter than its header.
    pub(crate) fn packet_out(&self, packet: &[u8]) -> Option<v1::PacketOut> {
        Encode::of(&self.model.lock()).packet_out(&self.program.schema, packet)
    }
}

impl std::fmt::Debug for Replica {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replica").field("program", &self.program.pipeline.name).finish_non_exhaustive()
    }
}

/// Identifies a device config: its FNV-1a hash.
fn cookie(config: &[u8]) -> u64 {
    config.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Entities in a form that servers agree on: what identifies them, and what packets run.
pub(crate) fn canonical(entities: Vec<Entity>) -> Vec<Entity> {
    let mut entities = entities;
    for entity in &mut entities {
        match entity {
            Entity::TableEntry(entry) => {
                fields(&mut entry.r#match);
                if let Some(Acts::Action(call)) = entry.action.as_mut().and_then(|action| action.r#type.as_mut()) {
                    arguments(call);
                }
                *entry = v1::TableEntry {
                    table_id: entry.table_id,
                    r#match: std::mem::take(&mut entry.r#match),
                    action: entry.action.take(),
                    priority: entry.priority,
                    ..Default::default()
                };
            }
            Entity::ActionProfileMember(member) => member.action.as_mut().map_or((), arguments),
            Entity::ActionProfileGroup(group) => group.members.sort_by_key(|member| member.member_id),
            Entity::ValueSetEntry(set) => {
                set.members.iter_mut().for_each(|member| fields(&mut member.r#match));
                set.members.sort_by_key(|member| format!("{member:?}"));
            }
            _ => {}
        }
    }
    entities
}

fn fields(matches: &mut [v1::FieldMatch]) {
    matches.sort_by_key(|field| field.field_id);
    for field in matches {
        match &mut field.field_match_type {
            Some(FieldMatchType::Exact(m)) => shorten(&mut m.value),
            Some(FieldMatchType::Optional(m)) => shorten(&mut m.value),
            Some(FieldMatchType::Lpm(m)) => shorten(&mut m.value),
            Some(FieldMatchType::Ternary(m)) => [&mut m.value, &mut m.mask].into_iter().for_each(shorten),
            Some(FieldMatchType::Range(m)) => [&mut m.low, &mut m.high].into_iter().for_each(shorten),
            Some(FieldMatchType::Other(_)) | None => {}
        }
    }
}

fn arguments(action: &mut v1::Action) {
    action.params.sort_by_key(|param| param.param_id);
    action.params.iter_mut().for_each(|param| shorten(&mut param.value));
}

/// Takes zeros from the front of a number.
fn shorten(value: &mut Bytes) {
    let zeros = value.iter().take_while(|byte| **byte == 0).count();
    *value = value.slice(zeros.min(value.len().saturating_sub(1))..);
}

/// The updates that lead from some entities to others: additions and changes in the order of `after`, then deletions in the reverse
/// order of `before`.
pub(crate) fn changes(before: &[Entity], after: &[Entity]) -> Vec<v1::Update> {
    let there: HashMap<Vec<u8>, &Entity> = before.iter().map(|entity| (key(entity), entity)).collect();
    let wanted: HashMap<Vec<u8>, &Entity> = after.iter().map(|entity| (key(entity), entity)).collect();
    let mut updates = Vec::new();
    for entity in after {
        match there.get(&key(entity)) {
            Some(old) if *old == entity => {}
            // Sets are always there.
            None if !matches!(entity, Entity::ValueSetEntry(_)) => updates.push(update(Type::Insert, entity.clone())),
            _ => updates.push(update(Type::Modify, entity.clone())),
        }
    }
    let gone = before.iter().rev().filter(|entity| !wanted.contains_key(&key(entity)));
    for entity in gone {
        match entity {
            Entity::ValueSetEntry(set) => {
                let empty = v1::ValueSetEntry { members: Vec::new(), ..set.clone() };
                updates.push(update(Type::Modify, Entity::ValueSetEntry(empty)));
            }
            _ => updates.push(update(Type::Delete, entity.clone())),
        }
    }
    updates
}
