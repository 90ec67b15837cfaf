//! What controllers have written, for a process that takes over: P4Runtime's own messages, which that process carries out.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use prost::Message as _;

use crate::device::{Device, lock, no_program};
use crate::failure::{Result, exhausted, invalid};
use crate::program::Program;
use crate::proto::v1;
use crate::read;
use crate::role::Rights;
use crate::turns::Place;
use v1::entity::Entity;
use v1::update::Type;
use v1::write_request::Atomicity;

/// How long requests at work may take to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Requests of controllers wait as long as this is there.
#[derive(Debug)]
pub struct Held {
    _turns: Place,
}

/// Every kind of entity that holds what controllers have written. What leads to others comes after these.
fn everything() -> Vec<Entity> {
    let meters = v1::TableEntry { meter_config: Some(v1::MeterConfig::default()), ..Default::default() };
    vec![
        Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry::default()),
        Entity::ActionProfileMember(v1::ActionProfileMember::default()),
        Entity::ActionProfileGroup(v1::ActionProfileGroup::default()),
        Entity::ValueSetEntry(v1::ValueSetEntry::default()),
        Entity::DigestEntry(v1::DigestEntry::default()),
        Entity::MeterEntry(v1::MeterEntry::default()),
        Entity::TableEntry(v1::TableEntry { is_default_action: true, ..Default::default() }),
        Entity::TableEntry(meters),
    ]
}

/// How an entity is written to a device that does not have it; `None` if there is nothing to write.
fn kind(entity: &Entity) -> Option<Type> {
    match entity {
        Entity::TableEntry(entry) if entry.is_const => None,
        Entity::TableEntry(entry) if entry.is_default_action => Some(Type::Modify),
        Entity::MeterEntry(_) | Entity::ValueSetEntry(_) => Some(Type::Modify),
        _ => Some(Type::Insert),
    }
}

fn update(kind: Type, entity: Entity) -> v1::Update {
    v1::Update { r#type: kind.into(), entity: Some(v1::Entity { entity: Some(entity) }) }
}

impl Device {
    /// Has requests of controllers wait from now on, when those at work have ended.
    ///
    /// # Errors
    /// They do not end.
    pub fn hold(&self) -> Result<Held> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(turns) = self.turns().all() {
                return Ok(Held { _turns: turns });
            }
            if Instant::now() > deadline {
                return Err(exhausted("a controller's request does not end"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn found(&self) -> Result<Vec<Entity>> {
        let state = lock(&self.state);
        let mut model = state.as_ref().ok_or_else(no_program)?.model.lock();
        self.name_ports(&mut model);
        let mut found = Vec::new();
        everything().iter().try_for_each(|asked| read::read(&model, asked, &mut found))?;
        Ok(found)
    }

    /// The program, if a controller has set it, and what controllers have written, but for counters and registers.
    ///
    /// # Errors
    /// There is no program.
    pub fn save(&self) -> Result<Vec<u8>> {
        let pushed = lock(&self.state).as_ref().ok_or_else(no_program)?.pushed;
        let config = if pushed { self.config()? } else { v1::ForwardingPipelineConfig::default() };
        let write = |entity: Entity| Some(update(kind(&entity)?, entity));
        let updates = self.found()?.into_iter().filter_map(write).collect();
        let request = v1::WriteRequest { device_id: self.id(), updates, ..Default::default() };
        let mut saved = config.encode_length_delimited_to_vec();
        saved.extend(request.encode_length_delimited_to_vec());
        Ok(saved)
    }

    /// Becomes what another device was when it was saved. Returns how much of it does not fit the program that there is.
    ///
    /// # Errors
    /// It is no saved device, or its program cannot run.
    pub fn load(&self, mut saved: &[u8]) -> Result<usize> {
        let wrong =
            |error: prost::DecodeError| invalid(format!("what the running process has cannot be read: {error}"));
        let config = v1::ForwardingPipelineConfig::decode_length_delimited(&mut saved).map_err(wrong)?;
        let request = v1::WriteRequest::decode_length_delimited(&mut saved).map_err(wrong)?;
        if config != v1::ForwardingPipelineConfig::default() && config != self.config()? {
            let _making = lock(&self.making);
            self.commit(Program::from_config(&config)?, false)?;
        }
        // Entries of the file, and of the program, that controllers have removed or changed.
        let removable = |entity: &Entity| kind(entity) == Some(Type::Insert);
        let (mut own, others): (Vec<Entity>, Vec<Entity>) = self.found()?.into_iter().partition(removable);
        own.reverse();
        self.write_as_many(own.into_iter().map(|entity| update(Type::Delete, entity)).collect())?;
        // What cannot be removed, and is as it should be, such as a default action that is constant.
        let same: HashSet<Vec<u8>> =
            others.into_iter().map(|entity| update(Type::Modify, entity).encode_to_vec()).collect();
        let differs = |update: &v1::Update| !same.contains(&update.encode_to_vec());
        self.write_as_many(request.updates.into_iter().filter(differs).collect())
    }

    /// Writes updates of which some may have to wait for others. Returns the number of those that are refused.
    fn write_as_many(&self, mut updates: Vec<v1::Update>) -> Result<usize> {
        loop {
            let results = self.apply_messages(&Rights::default(), &updates, Atomicity::ContinueOnError)?;
            let before = updates.len();
            let refused = updates.into_iter().zip(&results).filter(|(_, result)| result.is_err());
            updates = refused.map(|(update, _)| update).collect();
            if updates.is_empty() || updates.len() == before {
                results.iter().filter_map(|result| result.as_ref().err()).for_each(|failure| {
                    tracing::debug!("device {}: not taken over: {}", self.id(), failure.message);
                });
                return Ok(updates.len());
            }
        }
    }
}
