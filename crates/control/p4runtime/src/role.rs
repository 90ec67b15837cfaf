//! What a role may do: its configuration (`stratum.P4RoleConfig` in `Role.config`), and the effect of all roles' configurations
//! on updates, reads and messages. `arbitration` decides who is primary of a role.
//!
//! A role without a configuration may do everything except write objects that another role has exclusively. A role with a
//! configuration may read and write the objects that it lists. Objects without id (multicast groups, clone sessions) belong to
//! roles without a configuration.

use std::collections::BTreeSet;
use std::sync::Arc;

use num_bigint::BigUint;
use prost::Message as _;

use crate::failure::{Result, denied, invalid};
use crate::proto::stratum::P4RoleConfig;
use crate::proto::v1;
use v1::entity::Entity;
use v1::stream_message_response::Update;

/// The message's name at the end of its type URL.
const NAME: &str = "stratum.P4RoleConfig";
/// The most objects that a role may list.
const MAX_IDS: usize = 65_536;

/// A role's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoleConfig {
    /// Objects that no other role may write.
    pub exclusive: BTreeSet<u32>,
    shared: BTreeSet<u32>,
    packet_ins: bool,
    /// Metadata that packets must have.
    filter: Option<(u32, BigUint)>,
    /// The role may set the program.
    pub pushes: bool,
}

impl RoleConfig {
    /// Reads the configuration in a message.
    ///
    /// # Errors
    /// If it is another message, or inconsistent.
    pub(crate) fn parse(request: &prost_types::Any) -> Result<RoleConfig> {
        if request.type_url.rsplit('/').next() != Some(NAME) {
            let url = &request.type_url;
            return Err(invalid(format!("role configurations of type `{url}` are not understood: `{NAME}` is")));
        }
        let config = P4RoleConfig::decode(&*request.value)
            .map_err(|e| invalid(format!("the role configuration is damaged: {e}")))?;
        if config.exclusive_p4_ids.len() + config.shared_p4_ids.len() > MAX_IDS {
            return Err(invalid(format!("a role configuration lists more than {MAX_IDS} objects")));
        }
        let exclusive: BTreeSet<u32> = config.exclusive_p4_ids.into_iter().collect();
        let shared: BTreeSet<u32> = config.shared_p4_ids.into_iter().collect();
        if let Some(id) = exclusive.intersection(&shared).next() {
            return Err(invalid(format!("the role configuration has {id:#x} both exclusive and shared")));
        }
        if exclusive.contains(&0) || shared.contains(&0) {
            return Err(invalid("the role configuration has an id 0"));
        }
        let filter = config.packet_in_filter.map(|f| (f.metadata_id, BigUint::from_bytes_be(&f.value)));
        Ok(RoleConfig {
            exclusive,
            shared,
            packet_ins: config.receives_packet_ins,
            filter,
            pushes: config.can_push_pipeline,
        })
    }

    /// Whether both configurations can be in force together.
    pub(crate) fn conflict(&self, other: &RoleConfig) -> Option<u32> {
        let theirs = |id: &&u32| other.exclusive.contains(id) || other.shared.contains(id);
        let ours = |id: &&u32| self.shared.contains(id);
        self.exclusive.iter().find(theirs).or_else(|| other.exclusive.iter().find(ours)).copied()
    }

    /// Whether the role has an object.
    pub(crate) fn lists(&self, id: u32) -> bool {
        self.exclusive.contains(&id) || self.shared.contains(&id)
    }

    /// The part of a message that the role's primary receives.
    pub(crate) fn part(&self, update: &Update) -> Option<Update> {
        match update {
            Update::Packet(packet) => {
                let has = |(id, value): &(u32, BigUint)| {
                    packet.metadata.iter().any(|m| m.metadata_id == *id && BigUint::from_bytes_be(&m.value) == *value)
                };
                (self.packet_ins && self.filter.as_ref().is_none_or(has)).then(|| update.clone())
            }
            Update::Digest(list) => self.lists(list.digest_id).then(|| update.clone()),
            Update::IdleTimeoutNotification(request) => {
                let table_entry: Vec<_> =
                    request.table_entry.iter().filter(|e| self.lists(e.table_id)).cloned().collect();
                let timestamp = request.timestamp;
                (!table_entry.is_empty())
                    .then_some(Update::IdleTimeoutNotification(v1::IdleTimeoutNotification { table_entry, timestamp }))
            }
            other => Some(other.clone()),
        }
    }
}

/// What a request may do at present.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rights {
    /// Its role's configuration.
    pub own: Option<Arc<RoleConfig>>,
    /// Configurations of other roles that have controllers.
    pub others: Vec<Arc<RoleConfig>>,
}

impl Rights {
    /// Checks that an update may write an object.
    ///
    /// # Errors
    /// `PERMISSION_DENIED`.
    pub(crate) fn check_write(&self, id: Option<u32>) -> Result<()> {
        if let Some(own) = &self.own {
            return match id {
                Some(id) if own.lists(id) => Ok(()),
                Some(id) => Err(denied(format!("the role's configuration does not list {id:#x}"))),
                None => Err(denied("what has no id is for roles without a configuration")),
            };
        }
        match id {
            Some(id) if self.others.iter().any(|o| o.exclusive.contains(&id)) => {
                Err(denied(format!("another role has {id:#x} for itself")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a read may ask for an object.
    ///
    /// # Errors
    /// `PERMISSION_DENIED`.
    pub(crate) fn check_read(&self, id: Option<u32>) -> Result<()> {
        match (&self.own, id) {
            (Some(own), Some(id)) if id != 0 && !own.lists(id) => {
                Err(denied(format!("the role's configuration does not list {id:#x}")))
            }
            _ => Ok(()),
        }
    }

    /// Whether the role may see what was found.
    pub(crate) fn shows(&self, found: &Entity) -> bool {
        match (&self.own, p4_id(found)) {
            (Some(own), Some(id)) => own.lists(id),
            (Some(_), None) => false,
            (None, _) => true,
        }
    }

    /// Checks that the program may be set.
    ///
    /// # Errors
    /// `PERMISSION_DENIED`.
    pub(crate) fn check_push(&self) -> Result<()> {
        match &self.own {
            Some(own) if !own.pushes => Err(denied("the role may not set the program")),
            _ => Ok(()),
        }
    }
}

/// The object in P4Info that an entity belongs to; for direct resources and entries, the table.
pub(crate) fn p4_id(entity: &Entity) -> Option<u32> {
    let table = |entry: &Option<v1::TableEntry>| entry.as_ref().map_or(0, |e| e.table_id);
    Some(match entity {
        Entity::ExternEntry(e) => e.extern_id,
        Entity::TableEntry(e) => e.table_id,
        Entity::ActionProfileMember(e) => e.action_profile_id,
        Entity::ActionProfileGroup(e) => e.action_profile_id,
        Entity::MeterEntry(e) => e.meter_id,
        Entity::DirectMeterEntry(e) => table(&e.table_entry),
        Entity::CounterEntry(e) => e.counter_id,
        Entity::DirectCounterEntry(e) => table(&e.table_entry),
        Entity::ValueSetEntry(e) => e.value_set_id,
        Entity::RegisterEntry(e) => e.register_id,
        Entity::DigestEntry(e) => e.digest_id,
        Entity::PacketReplicationEngineEntry(_) => return None,
    })
}
